//! Policies that weigh the cost of writing a page out and of reading it back.

pub(crate) mod cflru;
pub(crate) mod clock_dwf;
pub(crate) mod cost_clock;
pub(crate) mod greedy_dual;
pub(crate) mod spo_clock;
