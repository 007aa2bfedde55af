//! Amounts of memory as users write them: `64MiB`, `4096p`, `5%`.

use crate::{BadInput, Result};

/// The default page size in bytes.
pub const PAGE_SIZE: u64 = 4096;

/// An amount of memory before a trace's page size and footprint are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Memory {
    Bytes(u64),
    Pages(u64),
    /// Percent of the footprint.
    Percent(f64),
}

/// Units in bytes. KiB is 1024 bytes, kB is 1000.
const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

const EXPECTED: &str = "a size such as 64MiB, 4096p or 5%";

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Memory::Bytes(bytes) => write!(f, "{bytes}B"),
            Memory::Pages(pages) => write!(f, "{pages}p"),
            Memory::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl Memory {
    /// Parse a size. The error has no place, which the caller adds.
    pub fn parse(text: &str) -> Result<Memory> {
        match Memory::read(text) {
            Ok(Memory::Percent(0.0)) => Err(BadInput::new("", format!("'{text}' is zero"), EXPECTED)),
            read => read.map_err(|problem| BadInput::new("", problem, EXPECTED)),
        }
    }

    /// As [`parse`](Memory::parse), but `0%` is allowed, and the error is only what is wrong with
    /// `text`.
    pub fn read(text: &str) -> std::result::Result<Memory, String> {
        let bad = |problem: &str| format!("'{text}' {problem}");
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let value: f64 = number.parse().map_err(|_| bad("is not a number with a unit"))?;
        let scale = match unit.trim() {
            "" => return Err(bad(&format!("has no unit: {number}% or {number}MiB?"))),
            "%" => return Ok(Memory::Percent(value)),
            "p" => None,
            unit => Some(UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(|| bad(&format!("has the unknown unit '{unit}'")))?.1),
        };
        let amount = value * scale.unwrap_or(1) as f64;
        if amount < 1.0 {
            return Err(bad("is less than one byte or page"));
        }
        if amount >= (1u64 << 60) as f64 {
            return Err(bad("is too large: 2^60 or more"));
        }
        if amount.fract() != 0.0 {
            return Err(bad("is not a whole number of bytes or pages"));
        }
        Ok(if scale.is_some() { Memory::Bytes(amount as u64) } else { Memory::Pages(amount as u64) })
    }

    /// The amount in page frames. Bytes and percentages are rounded down; a percentage gives at
    /// least one page.
    pub fn pages(self, page_size: u64, footprint: u64) -> Result<u64> {
        let pages = match self {
            Memory::Bytes(bytes) => bytes / page_size,
            Memory::Pages(pages) => pages,
            // Percentages such as 0.1 are not exact in binary. Without the small addend, 10 % of 30
            // pages could be rounded down to 2.
            Memory::Percent(p) => ((footprint as f64 * p / 100.0 + 1e-9).floor() as u64).max(1),
        };
        if pages == 0 {
            return Err(BadInput::new("", format!("{self} is less than one page"), format!("at least {page_size} bytes")));
        }
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_every_unit() {
        for (unit, bytes) in [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)] {
            assert_eq!(Memory::parse(&format!("1.5{unit}")).unwrap(), Memory::Bytes((1.5 * bytes) as u64));
        }
        for (unit, power) in [("B", 0), ("KiB", 1), ("MiB", 2), ("GiB", 3), ("TiB", 4)] {
            assert_eq!(Memory::parse(&format!("64{unit}")).unwrap(), Memory::Bytes(64 * 1024u64.pow(power)));
        }
        assert_eq!(Memory::parse("4096p").unwrap(), Memory::Pages(4096));
        assert_eq!(Memory::parse("5%").unwrap().pages(4096, 2048).unwrap(), 102);
        assert_eq!(Memory::parse("0.1%").unwrap().pages(4096, 10).unwrap(), 1);
        assert_eq!(Memory::Percent(10.0).pages(4096, 30).unwrap(), 3);
        assert_eq!(Memory::Bytes(10_000).pages(4096, 99).unwrap(), 2);
    }

    /// 2^20 TiB are 2^60 bytes.
    #[test]
    fn the_least_and_the_largest_size() {
        assert_eq!((Memory::parse("1p").unwrap(), Memory::parse("1B").unwrap()), (Memory::Pages(1), Memory::Bytes(1)));
        assert_eq!(Memory::parse("1048575TiB").unwrap(), Memory::Bytes((1 << 60) - (1 << 40)));
        let error = |text| Memory::parse(text).unwrap_err().to_string();
        assert!(error("1048576TiB").contains("is too large: 2^60 or more"));
        assert!(error("0.5B").contains("is less than one byte or page"));
        assert!(error("1.5p").contains("is not a whole number of bytes or pages"));
        assert_eq!(Memory::Bytes(4096).pages(4096, 9).unwrap(), 1);
    }

    #[test]
    fn bad_sizes_are_refused_in_one_line() {
        for text in ["", "5", "x", "0%", "0p", "-3p", "5 parsecs", "1e9MiB", "0.3p", "9999999999999TiB"] {
            let e = Memory::parse(text).unwrap_err().to_string();
            assert!(e.contains("expected a size such as") && !e.contains('\n'), "{e}");
        }
        let error = |text| Memory::parse(text).unwrap_err().to_string();
        assert_eq!(error("25"), "'25' has no unit: 25% or 25MiB?; expected a size such as 64MiB, 4096p or 5%");
        assert!(error("5 parsecs").contains("'5 parsecs' has the unknown unit 'parsecs'"));
        assert!(error("9999999999999TiB").contains("is too large"));
        let e = Memory::Bytes(100).pages(4096, 9).unwrap_err().to_string();
        assert_eq!(e, "100B is less than one page; expected at least 4096 bytes");
    }
}
