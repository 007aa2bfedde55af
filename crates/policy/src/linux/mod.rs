//! Linux's own reclaim.

pub(crate) mod active_inactive;
pub(crate) mod mglru;
mod scan_balance;
pub(crate) mod scan_pass;
mod suspended;
