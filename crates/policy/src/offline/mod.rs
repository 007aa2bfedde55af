//! Policies that know the future. They show what is attainable at best and cannot be implemented in
//! a kernel.

pub(crate) mod opt;
pub(crate) mod opt_greedy;
