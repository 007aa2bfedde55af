//! What a policy sees of pages and parameters.

use crate::abi::{state, Host, Parameter, Text};
use crate::PageId;
use std::str::FromStr;

/// Where a page's content goes when it leaves memory, as of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    Swap = 0,
    File = 1,
}

/// What a page's mapping says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Anonymous,
    /// Private mapping of a file.
    File,
    /// Shared mapping of a file.
    Shared,
}

/// State of every page. A page number of [`Setup::pages`](crate::Setup::pages) or above is a slip
/// of the policy and panics.
pub struct Pages {
    /// Valid for as long as the call that was given this view; the view is never handed out for
    /// longer.
    host: *mut Host,
}

impl Pages {
    pub(crate) fn new(host: *mut Host) -> Pages {
        Pages { host }
    }

    #[inline]
    fn state(&self, page: PageId) -> u8 {
        // SAFETY: the runner made `host` for this call and `states` holds a byte for each of
        // `pages`.
        unsafe {
            assert!((page as usize) < (*self.host).pages, "page {page} is none of the {} pages", (*self.host).pages);
            *(*self.host).states.add(page as usize)
        }
    }

    #[inline]
    pub fn is_resident(&self, page: PageId) -> bool {
        self.state(page) & state::RESIDENT != 0
    }

    /// Written since it was brought in.
    #[inline]
    pub fn is_dirty(&self, page: PageId) -> bool {
        self.state(page) & state::DIRTY != 0
    }

    /// The class its mapping gives it.
    #[inline]
    pub fn class(&self, page: PageId) -> Class {
        match (self.state(page) & state::CLASS) >> state::CLASS_SHIFT {
            0 => Class::Anonymous,
            1 => Class::File,
            _ => Class::Shared,
        }
    }

    /// Where it would go or come from now: swap for anonymous pages and for private file pages
    /// already written.
    #[inline]
    pub fn backing(&self, page: PageId) -> Backing {
        if self.state(page) & state::CLASS == 0 || self.state(page) & state::COPIED != 0 {
            Backing::Swap
        } else {
            Backing::File
        }
    }

    /// `page` leaves memory. What that costs is the runner's business.
    #[inline]
    pub fn release(&mut self, page: PageId) {
        // SAFETY: the runner made `host` for this call.
        unsafe { ((*self.host).release)(self.host, page) }
    }
}

/// The values of a policy's parameters, given or by default.
pub struct Params<'a> {
    known: &'static [Parameter],
    values: &'a [Text],
}

impl<'a> Params<'a> {
    pub(crate) fn new(known: &'static [Parameter], values: &'a [Text]) -> Params<'a> {
        Params { known, values }
    }

    /// The value as written. Panics on a name that the policy did not list.
    pub fn text(&self, name: &str) -> &'a str {
        // SAFETY: names are constants of this library, values live as long as the call to `build`.
        let at = self.known.iter().position(|p| unsafe { p.name.bytes() } == name.as_bytes());
        let at = at.unwrap_or_else(|| panic!("there is no parameter '{name}'"));
        // SAFETY: as above.
        std::str::from_utf8(unsafe { self.values[at].bytes() }).unwrap_or("?")
    }

    /// The value as a number, or whatever else can be read from text; the error says which
    /// parameter could not.
    pub fn parse<T: FromStr>(&self, name: &str) -> Result<T, String> {
        let text = self.text(name);
        text.parse().map_err(|_| format!("{name}={text}; expected a {}", std::any::type_name::<T>()))
    }
}
