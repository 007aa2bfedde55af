//! Policies that go by how often a page was used.

pub(crate) mod lfu;
pub(crate) mod w_tinylfu;
