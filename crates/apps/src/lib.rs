//! What Android decides about apps: who lives and how important each is, who is killed when memory is low, and whose pages may
//! go to swap (A2S). Nothing here knows of pages or devices.

pub mod a2s;
pub mod acclaim;
pub mod ariadne;
mod history;
pub mod killer;
mod launcher;
pub mod victim;

pub use history::History;
pub use killer::{Killer, Pressure, Watermark, KILLERS};
pub use launcher::{AdjSpread, Launcher, Limits, Start, CACHED, PREVIOUS, SERVICE};
pub use victim::{Candidate, Victim, VICTIMS};

use swaplab_vocab::AppId;

/// Whose a page is. System and service processes are one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    System,
    App(AppId),
}
