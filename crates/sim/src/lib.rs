//! Clock, frames, accounting: the only place where traces, policies, swap schemes, devices and apps meet.

pub mod fit;
pub mod ledger;
pub mod nvm_cache;
pub mod phone;
pub mod replay;
mod threads;
