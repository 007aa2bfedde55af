//! Page indices, operations, packed memory references and page classes.

use serde::{Deserialize, Serialize};

/// Dense page index: pages are numbered in the order in which a trace first refers to them, so
/// per-page state is an array.
pub type PageId = u32;

/// The number of pages that a trace may name (4 TiB of 4 KiB pages, less one page). A packed
/// [`Access`] keeps two bits for the operation, and an import's map of pages needs room for an
/// index plus one in the other 30.
pub const MAX_PAGES: usize = (1 << 30) - 1;

/// The operation of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Op {
    /// Data read (`R`).
    Read = 0,
    /// Data write (`W`).
    Write = 1,
    /// Instruction fetch (`I`). Memory management treats it as a read.
    Fetch = 2,
}

impl Op {
    #[inline]
    pub fn is_write(self) -> bool {
        self == Op::Write
    }

    /// The letter in text formats: `R`, `W` or `I`.
    pub fn letter(self) -> char {
        ['R', 'W', 'I'][self as usize]
    }

    pub fn from_letter(letter: u8) -> Option<Op> {
        match letter {
            b'R' => Some(Op::Read),
            b'W' => Some(Op::Write),
            b'I' => Some(Op::Fetch),
            _ => None,
        }
    }
}

/// A reference in four bytes: page index in the upper 30 bits, [`Op`] in the lower two.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Access(pub u32);

impl Access {
    #[inline]
    pub fn new(page: PageId, op: Op) -> Access {
        debug_assert!((page as usize) < MAX_PAGES);
        Access(page << 2 | op as u32)
    }

    #[inline]
    pub fn page(self) -> PageId {
        self.0 >> 2
    }

    #[inline]
    pub fn is_write(self) -> bool {
        self.0 & 3 == Op::Write as u32
    }

    /// The operation. The unused fourth code, which a checked file does not contain, is returned as
    /// a fetch.
    #[inline]
    pub fn op(self) -> Op {
        const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Fetch, Op::Fetch];
        OPS[(self.0 & 3) as usize]
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}{}", self.op().letter(), self.page())
    }
}

/// The class of a page's mapping, which determines where its content is when it is not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Class {
    /// Anonymous: heap, stack. Backed by swap.
    Anonymous = 0,
    /// Private mapping of a file: backed by the file until its first write, anonymous (swap) after
    /// it.
    File = 1,
    /// Shared mapping of a file: always backed by the file, written back to it when dirty.
    Shared = 2,
}

impl Class {
    pub const ALL: [Class; 3] = [Class::Anonymous, Class::File, Class::Shared];

    pub fn from_code(code: u8) -> Option<Class> {
        Class::ALL.get(code as usize).copied()
    }

    pub fn name(self) -> &'static str {
        ["anonymous", "file", "shared"][self as usize]
    }

    pub fn from_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|c| c.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_gives_back_its_page_and_operation() {
        for op in [Op::Read, Op::Write, Op::Fetch] {
            for page in [0, 1, 12345, (MAX_PAGES - 1) as u32] {
                let a = Access::new(page, op);
                assert_eq!((a.page(), a.op(), a.is_write()), (page, op, op == Op::Write));
                assert_eq!((op.is_write(), format!("{a:?}")), (op == Op::Write, format!("{}{page}", op.letter())));
            }
            assert_eq!(Op::from_letter(op.letter() as u8), Some(op));
        }
        // The largest index plus one still fits into the bits of an index.
        assert_eq!((MAX_PAGES as u32) << 2 >> 2, MAX_PAGES as u32);
    }

    #[test]
    fn class_names_and_codes_are_inverse() {
        for c in Class::ALL {
            assert_eq!(Class::from_code(c as u8), Some(c));
            assert_eq!(Class::from_name(c.name()), Some(c));
        }
        assert_eq!(Class::from_code(3), None);
    }
}
