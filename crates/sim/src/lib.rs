//! The simulators: clock, page frames and accounting. Only this crate combines traces, policies,
//! swap schemes, devices and apps.

pub mod fit;
pub mod ledger;
pub mod nvm_cache;
pub mod phone;
pub mod replay;
mod threads;
