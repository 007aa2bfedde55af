//! `pgcsv`: the output of the prototype of the QEMU capture plugin. `I|R|W,<page hex>`;
//! `M,<page>,<pages>,<A|F>,<file>,<offset>` map; `U` unmap; `D` discard;
//! `V,<page>,<pages>,<page>,<pages>` mremap; `T,<raw references so far>`. With `--pages`, a table
//! `vpn,class,fileid,pgoff,...` gives each page's class: A anonymous, F file, C private file page
//! that was written, s shared.

use super::{decimal, hexadecimal, Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::event::{Mark, Range};
use crate::mappings::ClassAndFile;
use crate::meta::{FilePage, Kind};
use crate::source::{LineError, Lines, Source};
use std::collections::HashMap;
use swaplab_vocab::{Class, Op, Result};

pub static FORMAT: Format = Format {
    key: "pgcsv",
    what: "I|R|W,<page hex> with map events and a page table",
    source: "this project's first capture tool: pages and mapping events",
    parameters: &[],
    info: Info { kind: Kind::Page, own_options: &["pages"], detect, import },
};

const REFERENCE: &str = "I, R or W, a comma, and a page number in hexadecimal";
/// Files are numbered densely from 1.
const MAX_FILES: u64 = 1 << 20;

fn detect(_: &str, head: &[u8]) -> bool {
    let line = super::first_line(head);
    line.len() > 2
        && b"IRWMUDVT".contains(&line[0])
        && line[1] == b','
        && line[2..].iter().all(|c| c.is_ascii_hexdigit() || b",AF".contains(c))
}

fn import(source: &mut Source, builder: &mut TraceBuilder, options: &Options) -> Result<()> {
    if let Some(path) = &options.pages {
        let mut ignore = |_, _| true;
        let mut table = Source::open(path, &mut ignore)?;
        let known = read_pages(&mut table, builder)?;
        builder.set_known(known);
    }
    Lines::new(source).each(|line| match line {
        [letter @ (b'I' | b'R' | b'W'), b',', page @ ..] => {
            let page = hexadecimal(page).ok_or(LineError::Expected(REFERENCE))?;
            Ok(builder.access(0, page, Op::from_letter(*letter).expect("one of I, R, W"))?)
        }
        _ => Ok(builder.mark(event(line)?)?),
    })
}

fn event(line: &[u8]) -> std::result::Result<Mark, LineError> {
    let fields: Vec<&[u8]> = line.split(|c| *c == b',').collect();
    let range = |first: &[u8], pages: &[u8], expected| {
        let (first, pages) = (hexadecimal(first), decimal(pages));
        match (first, pages) {
            (Some(first), Some(pages)) if first.checked_add(pages).is_some() => Ok(Range { app: 0, first, pages }),
            _ => Err(LineError::Expected(expected)),
        }
    };
    match fields.as_slice() {
        [b"M", first, pages, class, file, offset] => {
            let expected = "M,<page hex>,<pages>,<A|F>,<file>,<offset>";
            let range = range(first, pages, expected)?;
            let file = decimal(file).filter(|f| *f < MAX_FILES).ok_or(LineError::Expected(expected))? as u32;
            let offset = decimal(offset).ok_or(LineError::Expected(expected))?;
            match *class {
                b"A" => Ok(Mark::Map { range, class: Class::Anonymous, file: 0, offset: 0 }),
                b"F" => Ok(Mark::Map { range, class: Class::File, file, offset }),
                _ => Err(LineError::Expected(expected)),
            }
        }
        [b"U", first, pages] => Ok(Mark::Unmap(range(first, pages, "U,<page hex>,<pages>")?)),
        [b"D", first, pages] => Ok(Mark::Discard(range(first, pages, "D,<page hex>,<pages>")?)),
        [b"V", first, pages, to, to_pages] => {
            let expected = "V,<page hex>,<pages>,<page hex>,<pages>";
            Ok(Mark::Remap { from: range(first, pages, expected)?, to: range(to, to_pages, expected)? })
        }
        [b"T", count] => Ok(Mark::RawReferences { count: decimal(count).ok_or(LineError::Expected("T,<raw references so far>"))? }),
        _ => Err(LineError::Expected("a line that begins with I, R, W, M, U, D, V or T")),
    }
}

/// Read the page table: classes and files by page. File names are added to the builder's metadata.
fn read_pages(table: &mut Source, builder: &mut TraceBuilder) -> Result<HashMap<u64, ClassAndFile>> {
    let mut known = HashMap::new();
    let mut first = true;
    Lines::new(table).each(|line| {
        if std::mem::take(&mut first) {
            return if line.starts_with(b"vpn,class,fileid,pgoff") {
                Ok(())
            } else {
                Err(LineError::Expected("the header vpn,class,fileid,pgoff,..."))
            };
        }
        let mut fields = line.splitn(5, |c| *c == b',');
        let mut next = || fields.next().unwrap_or(b"");
        let page = next();
        if page == b"#file" {
            let number = decimal(next()).filter(|n| *n < MAX_FILES).ok_or(LineError::Expected("#file,<number>,<path>"))? as usize;
            // A path may contain commas: it is the rest of the line after the second one.
            let path = line.splitn(3, |c| *c == b',').nth(2).unwrap_or(b"");
            let files = &mut builder.meta.files;
            files.resize(files.len().max(number + 1), String::new());
            files[number] = String::from_utf8_lossy(path).into_owned();
            return Ok(());
        }
        let page = hexadecimal(page).ok_or(LineError::Expected("a page number in hexadecimal first"))?;
        let class = match next() {
            b"A" => Class::Anonymous,
            b"F" | b"C" => Class::File,
            b"s" => Class::Shared,
            _ => return Err(LineError::Expected("a class: A, F, C or s second")),
        };
        let file = decimal(next()).filter(|n| *n < MAX_FILES).ok_or(LineError::Expected("a file number third"))? as u32;
        let offset = decimal(next()).ok_or(LineError::Expected("a page of the file fourth"))?;
        known.insert(page, ClassAndFile { class, file_page: FilePage { file, offset } });
        Ok(())
    })?;
    Ok(known)
}
