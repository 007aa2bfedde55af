//! Support for page-replacement policies in shared libraries, written in safe Rust. Implement
//! [`Policy`], name the type in [`export_policy!`], build a `cdylib`, and run
//! `swaplab replay --policy ./libmine.so:mine`.
//!
//! The trait has the required methods of `swaplab_policy::Policy`, which the policies in swaplab
//! implement, so little has to change when a policy is moved into swaplab. The optional methods of
//! that trait, such as `resize`, `keep`, `set_swappable` and `gauges`, do not exist here.
//!
//! The library and swaplab communicate by the C interface of [`abi`], so they may be built by
//! different compilers.

pub mod abi;
mod glue;
mod view;

pub use abi::{Parameter, Setup};
pub use view::{Backing, Class, Pages, Params};

/// Dense page index, below [`Setup::pages`].
pub type PageId = u32;

/// The operation of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Read = 0,
    Write = 1,
    /// Instruction fetch, which memory management treats as a read.
    Fetch = 2,
}

/// The information about references that a policy needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Every access, in order.
    Exact = 0,
    /// One bit per page. An access sets it; the policy reads and clears it when its hand passes.
    ReferenceBit = 1,
    /// Faults alone.
    FaultOnly = 2,
}

impl Parameter {
    /// A parameter that a user may append to the policy's key: `./libmine.so:mine:name=value`.
    pub const fn new(name: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
        Parameter { name: abi::Text::of(name), default: abi::Text::of(default), meaning: abi::Text::of(meaning) }
    }
}

/// A page-replacement policy. For each reference its runner calls either
/// - [`touch`](Policy::touch): the page is in memory; or
/// - [`miss`](Policy::miss), then [`reclaim`](Policy::reclaim) as often as needed until a frame is
///   free, then [`insert`](Policy::insert).
///
/// A page leaves memory when the policy calls [`Pages::release`] on it, in `reclaim` or in
/// `insert`, once. A panic ends the replay with its message.
pub trait Policy: Sized + Send + 'static {
    /// The name that users append to the file's name.
    const KEY: &'static str;
    /// A description of one line.
    const WHAT: &'static str = "";
    /// The source: paper and section.
    const SOURCE: &'static str = "";
    const SIGNAL: Signal = Signal::Exact;
    const PARAMETERS: &'static [Parameter] = &[];

    /// Build the policy. An error is one line that says what was found and what was expected.
    fn build(setup: &Setup, params: &Params) -> Result<Self, String>;

    /// A reference to a resident page. Nothing may be released.
    fn touch(&mut self, page: PageId, op: Op, pages: &Pages);

    /// `page` is not in memory and is about to be brought in. Policies look up their ghost entries
    /// and adapt here.
    fn miss(&mut self, _page: PageId, _op: Op, _pages: &Pages) {}

    /// Release at least one resident page. `incoming` is the page whose fault needs the frame;
    /// `None` if no fault does.
    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut Pages);

    /// `page` was brought into memory for a reference `op`.
    fn insert(&mut self, page: PageId, op: Op, pages: &mut Pages);

    /// `page` no longer exists, because it was unmapped or its owner has exited: drop it and its
    /// history. It may be resident or not.
    fn forget(&mut self, page: PageId);
}

/// Export one or more types that implement [`Policy`] from this library. Call it once per library.
#[macro_export]
macro_rules! export_policy {
    ($($policy:ty),+ $(,)?) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn swaplab_policies() -> *const $crate::abi::Exports {
            static POLICIES: &[$crate::abi::PolicyTable] = &[$($crate::abi::PolicyTable::of::<$policy>()),+];
            static LIBRARY: $crate::abi::Exports = $crate::abi::Exports::of(POLICIES);
            &LIBRARY
        }
    };
}
