//! The views through which a policy reads the state of pages and the values of its parameters.

use crate::abi::{state, Host, Parameter, Text};
use crate::PageId;
use std::str::FromStr;

/// Where a page's content goes if the page leaves memory now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    Swap = 0,
    File = 1,
}

/// The kind of mapping that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Anonymous,
    /// Private mapping of a file.
    File,
    /// Shared mapping of a file.
    Shared,
}

/// The state of all pages.
///
/// # Panics
/// The methods panic for a page number that is not below [`Setup::pages`](crate::Setup::pages).
pub struct Pages {
    /// Valid during the call that received this view. No view exists for longer.
    host: *mut Host,
}

impl Pages {
    pub(crate) fn new(host: *mut Host) -> Pages {
        Pages { host }
    }

    #[inline]
    fn state(&self, page: PageId) -> u8 {
        // SAFETY: the runner made `host` for this call, and `states` has one byte for each of
        // `pages`.
        unsafe {
            assert!((page as usize) < (*self.host).pages, "page {page} is not below the number of pages, {}", (*self.host).pages);
            *(*self.host).states.add(page as usize)
        }
    }

    #[inline]
    pub fn is_resident(&self, page: PageId) -> bool {
        self.state(page) & state::RESIDENT != 0
    }

    /// Whether the page was written since it was brought into memory.
    #[inline]
    pub fn is_dirty(&self, page: PageId) -> bool {
        self.state(page) & state::DIRTY != 0
    }

    /// The class of the page's mapping.
    #[inline]
    pub fn class(&self, page: PageId) -> Class {
        match (self.state(page) & state::CLASS) >> state::CLASS_SHIFT {
            0 => Class::Anonymous,
            1 => Class::File,
            _ => Class::Shared,
        }
    }

    /// Where the page's content would be written to or read from now: swap for anonymous pages and
    /// for private file pages that were written, else the file.
    #[inline]
    pub fn backing(&self, page: PageId) -> Backing {
        if self.state(page) & state::CLASS == 0 || self.state(page) & state::COPIED != 0 {
            Backing::Swap
        } else {
            Backing::File
        }
    }

    /// Remove `page` from memory. The runner accounts for the cost.
    #[inline]
    pub fn release(&mut self, page: PageId) {
        // SAFETY: the runner made `host` for this call.
        unsafe { ((*self.host).release)(self.host, page) }
    }
}

/// The values of a policy's parameters: those that the user gave, else the defaults.
pub struct Params<'a> {
    known: &'static [Parameter],
    values: &'a [Text],
}

impl<'a> Params<'a> {
    pub(crate) fn new(known: &'static [Parameter], values: &'a [Text]) -> Params<'a> {
        Params { known, values }
    }

    /// The value as the user wrote it.
    ///
    /// # Panics
    /// Panics for a name that is not in [`Policy::PARAMETERS`](crate::Policy::PARAMETERS).
    pub fn text(&self, name: &str) -> &'a str {
        // SAFETY: names are constants of this library; values live as long as the call to `build`.
        let at = self.known.iter().position(|p| unsafe { p.name.bytes() } == name.as_bytes());
        let at = at.unwrap_or_else(|| panic!("there is no parameter '{name}'"));
        // SAFETY: as above.
        std::str::from_utf8(unsafe { self.values[at].bytes() }).unwrap_or("?")
    }

    /// Parse the value. The error names the parameter, its value and the expected type.
    pub fn parse<T: FromStr>(&self, name: &str) -> Result<T, String> {
        let text = self.text(name);
        text.parse().map_err(|_| format!("{name}={text}; expected a {}", std::any::type_name::<T>()))
    }
}
