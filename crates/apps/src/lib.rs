//! Android's decisions about apps: which apps are alive, how important each one is, which one is
//! killed when memory is low, and which apps' pages may be swapped out. This crate does not depend
//! on page frames or devices.

pub mod app_policy;
pub mod compaction;
mod history;
pub mod killer;
mod launcher;
mod restarts;
mod scores;
pub mod victim;

pub use history::History;
pub use killer::{Killer, Pressure, Scanned, Watermark, KILLERS};
pub use launcher::{Launcher, Limits, Start};
pub use restarts::Restarts;
pub use scores::{AdjSpread, Scores, CACHED, PREVIOUS, SERVICE};
pub use victim::{Candidate, Victim, VICTIMS};

use swaplab_vocab::AppId;

/// The owner of a page. All system and service processes are one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    System,
    App(AppId),
}
