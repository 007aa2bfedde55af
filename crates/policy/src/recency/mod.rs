//! Policies that go by when a page was last used.

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
