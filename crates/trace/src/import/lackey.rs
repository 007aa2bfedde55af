//! `lackey`: what `valgrind --tool=lackey --trace-mem=yes` prints. `I addr,size` fetch,
//! ` L addr,size` load, ` S` store, ` M` modify (a load, then a store); addresses in hexadecimal.
//! Lines of valgrind itself (`==pid==`, `--pid--`) are ignored. An access across a page boundary
//! refers to both pages.

use super::{decimal, hexadecimal, Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::meta::Kind;
use crate::source::{LineError, Lines, Source};
use swaplab_vocab::{Op, Result};

pub static FORMAT: Format = Format {
    key: "lackey",
    what: "valgrind --tool=lackey --trace-mem=yes",
    source: "Valgrind, lackey's --trace-mem",
    parameters: &[],
    info: Info { kind: Kind::Page, own_options: &[], detect, import },
};

const EXPECTED: &str = "'I  ', ' L ', ' S ' or ' M ', then an address in hexadecimal, a comma and a size";

fn detect(_: &str, head: &[u8]) -> bool {
    let line = super::first_line(head);
    line.starts_with(b"==") || parse(line).is_some()
}

fn import(source: &mut Source, builder: &mut TraceBuilder, options: &Options) -> Result<()> {
    let shift = options.page_size.trailing_zeros();
    Lines::new(source).each(|line| {
        if line.starts_with(b"==") || line.starts_with(b"--") {
            return Ok(());
        }
        let (ops, address, size) = parse(line).ok_or(LineError::Expected(EXPECTED))?;
        let last = address.checked_add(size - 1).ok_or(LineError::Expected("an access that ends below 2^64"))? >> shift;
        for op in ops {
            for page in address >> shift..=last {
                builder.access(0, page, *op)?;
            }
        }
        Ok(())
    })
}

/// Operations, address and size of one line.
pub fn parse(line: &[u8]) -> Option<(&'static [Op], u64, u64)> {
    let (ops, rest): (&[Op], _) = match line {
        [b'I', b' ', b' ', rest @ ..] => (&[Op::Fetch], rest),
        [b' ', b'L', b' ', rest @ ..] => (&[Op::Read], rest),
        [b' ', b'S', b' ', rest @ ..] => (&[Op::Write], rest),
        [b' ', b'M', b' ', rest @ ..] => (&[Op::Read, Op::Write], rest),
        _ => return None,
    };
    let comma = memchr::memchr(b',', rest)?;
    let address = hexadecimal(&rest[..comma])?;
    // No instruction accesses more than a page. A larger size is an error in the file and would
    // cause references to many pages.
    let size = decimal(&rest[comma + 1..]).filter(|s| (1..=4096).contains(s))?;
    Some((ops, address, size))
}
