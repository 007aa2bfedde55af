//! `oslab`: one reference per line, a decimal page number and `I`, `R` or `W`, separated by spaces,
//! a tab or a comma. This is the format of the traces published by the group of the SPO-CLOCK
//! paper.

use super::{Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::meta::Kind;
use crate::source::{quoted, Lines, Source};
use swaplab_vocab::{BadInput, Op, Result};

pub static FORMAT: Format = Format {
    key: "oslab",
    what: "page number in decimal, then I, R or W",
    source: "traces of page numbers with one line for each reference",
    parameters: &[],
    info: Info { kind: Kind::Page, own_options: &[], detect, import },
};

const EXPECTED: &str = "a page number below 2^64 in decimal, then I, R or W";

fn detect(_: &str, head: &[u8]) -> bool {
    matches!(parse(super::first_line(head), &mut 0), Some(Some(_)))
}

fn import(source: &mut Source, builder: &mut TraceBuilder, _: &Options) -> Result<()> {
    let name = source.name.clone();
    let mut lines = Lines::new(source);
    while let Some((chunk, before)) = lines.chunk()? {
        let mut at = 0;
        while at < chunk.len() {
            at += super::take_plain(&chunk[at..], |c| matches!(c, b' ' | b'\t' | b','), builder)?;
            if at >= chunk.len() {
                break;
            }
            let start = at;
            match parse(chunk, &mut at) {
                Some(Some((page, op))) => builder.access(0, page, op)?,
                Some(None) => {}
                None => {
                    let number = before + memchr::memchr_iter(b'\n', &chunk[..start]).count() as u64 + 1;
                    return Err(BadInput::new(format!("{name}: line {number}"), quoted(super::first_line(&chunk[start..])), EXPECTED));
                }
            }
        }
    }
    Ok(())
}

/// Parse the line at `at`, and advance `at` to the next one. `Some(None)` is an empty line, `None`
/// an invalid one.
#[inline]
#[allow(clippy::option_option)]
fn parse(text: &[u8], at: &mut usize) -> Option<Option<(u64, Op)>> {
    let start = *at;
    let mut i = start;
    let mut page = 0u64;
    while let Some(digit) = text.get(i).map(|c| c.wrapping_sub(b'0')).filter(|d| *d < 10) {
        page = page.wrapping_mul(10).wrapping_add(digit as u64);
        i += 1;
    }
    let digits = i - start;
    if digits >= 20 {
        // 19 digits always fit; this refuses longer numbers that overflow
        super::decimal(&text[start..i])?;
    }
    let separators = i;
    while matches!(text.get(i), Some(b' ' | b'\t' | b',')) {
        i += 1;
    }
    if digits == 0 {
        while text.get(i) == Some(&b'\r') {
            i += 1;
        }
        *at = i + 1;
        return matches!(text.get(i), None | Some(b'\n')).then_some(None);
    }
    let op = Op::from_letter(*text.get(i)?).filter(|_| i > separators)?;
    i += 1;
    while matches!(text.get(i), Some(b' ' | b'\t' | b'\r')) {
        i += 1;
    }
    *at = i + 1;
    matches!(text.get(i), None | Some(b'\n')).then_some(Some((page, op)))
}
