//! Your own page-replacement policy in a shared library, in safe Rust: implement [`Policy`], name
//! it in [`export_policy!`], build a `cdylib`, and give it to
//! `swaplab replay --policy ./libmine.so:mine`. The trait has the required methods of
//! `swaplab_policy::Policy`, the trait of the policies that are compiled in, so a policy moves into
//! the tree with little more than its header. It lacks that trait's optional methods, such as
//! `resize`, `keep`, `set_swappable` and `gauges`.
//!
//! Between the two lies the C interface of [`abi`], so neither side must be built with the other's
//! compiler.

pub mod abi;
mod glue;
mod view;

pub use abi::{Parameter, Setup};
pub use view::{Backing, Class, Pages, Params};

/// Dense page index, below [`Setup::pages`].
pub type PageId = u32;

/// What a reference does to its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Read = 0,
    Write = 1,
    /// Instruction fetch: a read, as far as memory management sees it.
    Fetch = 2,
}

/// What a policy must be told about references to do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Every access, in order.
    Exact = 0,
    /// One bit per page, set by an access, read and cleared when the hand passes.
    ReferenceBit = 1,
    /// Faults alone.
    FaultOnly = 2,
}

impl Parameter {
    /// One that a user may give behind the policy's key: `./libmine.so:mine:name=value`.
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
    /// What users type behind the file's name.
    const KEY: &'static str;
    /// One line.
    const WHAT: &'static str = "";
    /// Paper and section.
    const SOURCE: &'static str = "";
    const SIGNAL: Signal = Signal::Exact;
    const PARAMETERS: &'static [Parameter] = &[];

    /// An error is one line that says what was found and expected.
    fn build(setup: &Setup, params: &Params) -> Result<Self, String>;

    /// A reference to a resident page. Nothing may be released.
    fn touch(&mut self, page: PageId, op: Op, pages: &Pages);

    /// `page` is not in memory and is about to be brought in: the place to look at ghost lists and
    /// adapt.
    fn miss(&mut self, _page: PageId, _op: Op, _pages: &Pages) {}

    /// Release at least one resident page. `incoming` is the page whose fault needs the frame, if
    /// one does.
    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut Pages);

    /// `page` is in memory now because of a reference `op`.
    fn insert(&mut self, page: PageId, op: Op, pages: &mut Pages);

    /// `page` no longer exists (unmapped, owner gone): drop it and any history of it. It may be
    /// resident or not.
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
