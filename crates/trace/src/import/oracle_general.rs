//! `oracle-general`: libCacheSim's binary form, 24 bytes a request, little-endian: time (u32),
//! object id (u64), size (u32), index of the object's next request (i64). The format has no
//! operation: every reference is imported as a data read.

use super::{Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::meta::Kind;
use crate::source::Source;
use swaplab_vocab::{BadInput, Op, Result};

pub static FORMAT: Format = Format {
    key: "oracle-general",
    what: "libCacheSim's 24-byte records: ids and order only",
    source: "libCacheSim, oracleGeneral",
    parameters: &[],
    info: Info { kind: Kind::Page, own_options: &[], detect, import },
};

pub const RECORD_BYTES: usize = 24;

fn detect(name: &str, _: &[u8]) -> bool {
    name.to_ascii_lowercase().replace(['-', '_'], "").contains("oraclegeneral")
}

fn import(source: &mut Source, builder: &mut TraceBuilder, _: &Options) -> Result<()> {
    // 192 KiB, which stay in the processor's cache until they are parsed
    let mut buffer = vec![0; RECORD_BYTES << 13];
    let mut records = 0u64;
    loop {
        let filled = source.read(&mut buffer)?;
        if filled % RECORD_BYTES != 0 {
            let offset = (records + (filled / RECORD_BYTES) as u64) * RECORD_BYTES as u64;
            return Err(BadInput::new(
                format!("{}: byte {offset}", source.name),
                format!("a record of {} bytes", filled % RECORD_BYTES),
                "24-byte records to the end",
            ));
        }
        for record in buffer[..filled].chunks_exact(RECORD_BYTES) {
            builder.access(0, u64::from_le_bytes(record[4..12].try_into().unwrap()), Op::Read)?;
        }
        records += (filled / RECORD_BYTES) as u64;
        if filled < buffer.len() {
            return Ok(());
        }
    }
}
