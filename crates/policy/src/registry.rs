//! The registry of policies, one line each. The macro generates the list of keys, the constructor,
//! and an enum that dispatches once per block of references, so that the loop over a block is
//! compiled for each policy.

use crate::{Describe, Entry, Info, Policy, Setup};
use swaplab_vocab::{Params, Registry, Result};

macro_rules! policies {
    ($($family:ident :: $module:ident :: $policy:ident,)*) => {
        /// A policy of any registered kind.
        #[allow(clippy::large_enum_variant)] // A runner has few values of this type.
        pub enum AnyPolicy {
            $($policy(crate::$family::$module::$policy),)*
            /// A policy from a shared library or a Python class.
            External(Box<dyn Policy>),
        }

        pub const POLICIES: Registry<Info> =
            Registry { kind: "policy", entries: &[$(&<crate::$family::$module::$policy as Describe>::ENTRY,)*] };

        impl AnyPolicy {
            pub(crate) fn build(entry: &Entry, setup: &Setup, params: &Params) -> Result<AnyPolicy> {
                $(if entry.key == <crate::$family::$module::$policy as Describe>::ENTRY.key {
                    return Ok(AnyPolicy::$policy(<crate::$family::$module::$policy as Describe>::build(setup, params)?));
                })*
                unreachable!("{} is not in the registry", entry.key)
            }

            /// Call `visitor` with the concrete policy. The visitor's code is compiled for each
            /// policy type.
            #[inline]
            pub fn visit<V: Visitor>(&mut self, visitor: V) -> V::Output {
                match self {
                    $(AnyPolicy::$policy(policy) => visitor.visit(policy),)*
                    AnyPolicy::External(policy) => visitor.visit(policy.as_mut()),
                }
            }

            /// The concrete policy on the heap, for a runner that calls it page by page and keeps
            /// it small.
            pub fn boxed(self) -> Box<dyn Policy> {
                match self {
                    $(AnyPolicy::$policy(policy) => Box::new(policy),)*
                    AnyPolicy::External(policy) => policy,
                }
            }

            pub fn as_dyn(&self) -> &dyn Policy {
                match self {
                    $(AnyPolicy::$policy(policy) => policy,)*
                    AnyPolicy::External(policy) => policy.as_ref(),
                }
            }

            pub fn as_dyn_mut(&mut self) -> &mut dyn Policy {
                match self {
                    $(AnyPolicy::$policy(policy) => policy,)*
                    AnyPolicy::External(policy) => policy.as_mut(),
                }
            }
        }
    };
}

policies! {
    recency::fifo::FifoPolicy,
    recency::lru::LruPolicy,
    frequency::lfu::LfuPolicy,
    recency::clock::ClockPolicy,
    recency::two_q::TwoQPolicy,
    recency::refault::RefaultPolicy,
    recency::arc::ArcPolicy,
    recency::s3_fifo::S3FifoPolicy,
    recency::sieve::SievePolicy,
    linux::active_inactive::ActiveInactivePolicy,
    linux::mglru::MglruPolicy,
    recency::clock_pro::ClockProPolicy,
    recency::lirs::LirsPolicy,
    frequency::w_tinylfu::WTinyLfuPolicy,
    offline::opt::OptPolicy,
    cost::spo_clock::SpoClockPolicy,
    cost::cflru::CflruPolicy,
    cost::clock_dwf::ClockDwfPolicy,
    cost::greedy_dual::GreedyDualPolicy,
    cost::cost_clock::CostClockPolicy,
    offline::opt_greedy::OptGreedyPolicy,
}

/// Code that is compiled for each policy type, for [`AnyPolicy::visit`].
pub trait Visitor {
    type Output;
    fn visit<P: Policy + ?Sized>(self, policy: &mut P) -> Self::Output;
}
