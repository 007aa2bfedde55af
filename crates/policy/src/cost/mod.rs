//! Policies that weigh what a page costs to write and to bring back.

pub(crate) mod cflru;
pub(crate) mod clock_dwf;
pub(crate) mod cost_clock;
pub(crate) mod greedy_dual;
pub(crate) mod spo_clock;
