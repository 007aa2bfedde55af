//! Policies that order pages by when they were last used.

pub(crate) mod arc;
pub(crate) mod clock;
pub(crate) mod clock_pro;
pub(crate) mod fifo;
pub(crate) mod lirs;
pub(crate) mod lru;
pub(crate) mod refault;
pub(crate) mod s3_fifo;
pub(crate) mod sieve;
pub(crate) mod two_q;
