//! `block-csv`: a header, then one request per line:
//! `process,device,rw_flag,sector,size,timestamp`, with sectors and sizes in units of 512 bytes.
//! This is the format of the public traces of a Pixel 6a (their header has `proces`).

use super::partitions::Partitions;
use super::{decimal, Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::meta::Kind;
use crate::source::{LineError, Lines, Source};
use swaplab_vocab::{Op, Result};

pub static FORMAT: Format = Format {
    key: "block-csv",
    what: "header process,device,rw_flag,sector,size,timestamp, then a line for each request, in 512-byte sectors",
    source: "traces of block requests with one line for each request",
    parameters: &[],
    info: Info { kind: Kind::Block, own_options: &["ranges", "filefrag"], detect, import },
};

fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"proces") && line.ends_with(b",device,rw_flag,sector,size,timestamp")
}

fn detect(_: &str, head: &[u8]) -> bool {
    is_header(super::first_line(head))
}

fn import(source: &mut Source, builder: &mut TraceBuilder, options: &Options) -> Result<()> {
    let mut partitions = Partitions::load(options.ranges.as_deref(), options.filefrag.as_deref())?;
    let mut first = true;
    Lines::new(source).each(|line| {
        if std::mem::take(&mut first) {
            let header = is_header(line.strip_suffix(b"\r").unwrap_or(line));
            return if header { Ok(()) } else { Err(LineError::Expected("the header process,device,rw_flag,sector,size,timestamp")) };
        }
        request(line, builder, &mut partitions)
    })?;
    partitions.finish(builder);
    Ok(())
}

fn request(line: &[u8], builder: &mut TraceBuilder, partitions: &mut Partitions) -> std::result::Result<(), LineError> {
    // The name of a process may contain a comma, so fields are counted from the end.
    let mut fields = line.rsplitn(6, |c| *c == b',');
    let _timestamp = fields.next();
    let mut number = |expected| fields.next().and_then(decimal).ok_or(LineError::Expected(expected));
    let sectors = number("a size in sectors fifth")?;
    let sector = number("a sector fourth")?;
    let op = match fields.next() {
        Some(kind) if kind.contains(&b'R') => Op::Read,
        Some(kind) if kind.contains(&b'W') => Op::Write,
        _ => return Err(LineError::Expected("R or W third")),
    };
    let device = fields.next().ok_or(LineError::Expected("six fields: process,device,rw_flag,sector,size,timestamp"))?;
    partitions.request(builder, &String::from_utf8_lossy(device), op, sector, sectors)
}
