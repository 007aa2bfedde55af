//! Policies that order pages by how often they were used.

pub(crate) mod lfu;
pub(crate) mod w_tinylfu;
