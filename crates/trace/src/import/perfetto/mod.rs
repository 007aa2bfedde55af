//! `perfetto`: a recording of Perfetto (`.pftrace`) as launches with memory series: processes'
//! resident and swapped memory, their starts and `oom_score_adj`, kills, and the machine's memory,
//! swap and pressure counters.
//!
//! An app is launched when its `oom_score_adj` becomes 0, and is in front while it is 0. A kill is
//! an event of lmkd (`kill_one_process`, `lmk,PID,..`), of the old driver (`lowmemory_kill`) or of
//! the kernel (`mark_victim`). Of the samples of a counter, the last one of every 100 ms is kept.
//! An `rss_stat` event for the memory of another process is assigned to the process that had this
//! memory descriptor before, and is ignored if there is none.

mod collect;

use super::{Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::meta::Kind;
use crate::perfetto::TracePacket;
use crate::source::Source;
use crate::{Counter, Mark, MACHINE};
use collect::{counted, Collected, EventKind};
use prost::Message;
use std::collections::HashMap;
use std::io::Read;
use swaplab_vocab::{AppId, BadInput, Result};

pub static FORMAT: Format = Format {
    key: "perfetto",
    what: "a Perfetto recording: launches, kills, memory series",
    source: "Perfetto, trace.proto",
    parameters: &[],
    info: Info { kind: Kind::Launch, own_options: &[], detect, import },
};

/// Field 1 of `Trace`, length-delimited: how each packet begins.
const PACKET: u8 = 1 << 3 | 2;
/// Upper limit for the size of a packet, as large as any buffer of the recorder.
const MOST_PACKET: u64 = 256 << 20;

fn detect(name: &str, head: &[u8]) -> bool {
    let named = [".pftrace", ".perfetto-trace"].iter().any(|end| name.trim_end_matches(".gz").ends_with(end));
    named || head.first() == Some(&PACKET) && first_packet(head).is_some()
}

/// Check that the file's first packet is valid, as far as it is within `head`.
fn first_packet(head: &[u8]) -> Option<()> {
    let mut rest = &head[1..];
    let length = prost::encoding::decode_varint(&mut rest).ok()? as usize;
    let packet = TracePacket::decode(rest.get(..length)?).ok()?;
    (packet != TracePacket::default()).then_some(())
}

fn import(source: &mut Source, builder: &mut TraceBuilder, _: &Options) -> Result<()> {
    let name = source.name.clone();
    let mut collected = Collected::default();
    let (mut at, mut packets) = (0u64, 0u64);
    let mut bytes = Vec::new();
    while let Some(length) = packet_length(source, &name, &mut at)? {
        let bad =
            |found: String| BadInput::new(format!("{name}: byte {at}: packet {packets}"), found, "a packet of Perfetto's trace format");
        if length > MOST_PACKET {
            return Err(bad(format!("{length} bytes")));
        }
        bytes.resize(length as usize, 0);
        if source.read(&mut bytes)? < bytes.len() {
            return Err(bad("the file ends inside it".into()));
        }
        let packet = TracePacket::decode(&bytes[..]).map_err(|e| bad(e.to_string()))?;
        take(packet, &mut collected).map_err(bad)?;
        at += length;
        packets += 1;
    }
    write(&name, collected, builder)
}

/// The length of the next packet; `None` at the end of the file.
fn packet_length(source: &mut Source, name: &str, at: &mut u64) -> Result<Option<u64>> {
    let bad = |at: u64, found: String| BadInput::new(format!("{name}: byte {at}"), found, "a packet of Perfetto's trace format");
    let mut byte = [0];
    if source.read(&mut byte)? == 0 {
        return Ok(None);
    }
    if byte[0] != PACKET {
        return Err(bad(*at, format!("0x{:02x}", byte[0])));
    }
    *at += 1;
    let mut length = 0u64;
    for shift in (0..63).step_by(7) {
        if source.read(&mut byte)? == 0 {
            return Err(bad(*at, "the end of the file".into()));
        }
        *at += 1;
        length |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] & 0x80 == 0 {
            return Ok(Some(length));
        }
    }
    Err(bad(*at, "a length beyond 2^63".into()))
}

/// Collect a packet, or the packets that are compressed in it.
fn take(packet: TracePacket, collected: &mut Collected) -> std::result::Result<(), String> {
    let unpacked = match (&packet.compressed_packets, &packet.zstd_compressed_packets) {
        (Some(packed), _) => unpack(flate2::read::ZlibDecoder::new(&packed[..]))?,
        (_, Some(packed)) => unpack(zstd::stream::read::Decoder::new(&packed[..]).map_err(|e| e.to_string())?)?,
        _ => {
            collected.packet(packet);
            return Ok(());
        }
    };
    let mut rest = &unpacked[..];
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        let length = prost::encoding::decode_varint(&mut rest).map_err(|e| e.to_string())? as usize;
        let (body, behind) = rest.split_at_checked(length).filter(|_| *first == PACKET).ok_or("packed packets that are cut")?;
        let inner = TracePacket::decode(body).map_err(|e| e.to_string())?;
        if inner.compressed_packets.is_some() || inner.zstd_compressed_packets.is_some() {
            return Err("packed packets inside packed packets".into());
        }
        collected.packet(inner);
        rest = behind;
    }
    Ok(())
}

fn unpack(mut from: impl Read) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.by_ref().take(MOST_PACKET + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > MOST_PACKET {
        return Err(format!("more than {MOST_PACKET} bytes packed in one packet"));
    }
    Ok(bytes)
}

fn write(name: &str, collected: Collected, builder: &mut TraceBuilder) -> Result<()> {
    let (events, names, lost) = collected.finish();
    let Some(start) = events.first().map(|e| e.at_ns) else {
        return Err(BadInput::new(
            name,
            "no process, memory or kill event in it",
            "a recording with process stats or ftrace's memory events",
        ));
    };
    let mut apps: HashMap<Option<i32>, AppId> = HashMap::new();
    let mut sums: HashMap<(AppId, Counter), i64> = HashMap::new();
    let mut now = None;
    for event in &events {
        let app = match apps.get(&event.pid) {
            Some(app) => *app,
            None => {
                let called = event.pid.map_or(MACHINE.to_string(), |pid| names.get(&pid).cloned().unwrap_or_else(|| format!("pid {pid}")));
                *apps.entry(event.pid).or_insert(builder.app(&called, None)?)
            }
        };
        let ns = event.at_ns - start;
        if now.replace(ns) != Some(ns) {
            builder.mark(Mark::Time { ns })?;
        }
        builder.mark(match event.kind {
            EventKind::Launch { foreground_ns } => Mark::Launch { app, foreground_ns },
            EventKind::Kill => Mark::Kill { app },
            EventKind::Sample(counter, increment) if counted(counter) => {
                let sum = sums.entry((app, counter)).or_insert(0);
                *sum += increment;
                Mark::Sample { app, counter, value: *sum }
            }
            EventKind::Sample(counter, value) => Mark::Sample { app, counter, value },
            EventKind::Polled(value) => Mark::Sample { app, counter: Counter::Adjustment, value },
        })?;
    }
    if lost {
        builder.meta.truncated = true;
        builder.meta.provenance.insert("truncated_because".into(), "the recorder lost events".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfetto::{Process, ProcessTree};

    /// A packet that names a process. Its length takes a second byte if the command is long.
    fn named(pid: i32, command: &str) -> Vec<u8> {
        let process = Process { pid: Some(pid), cmdline: vec![command.into()] };
        let packet = TracePacket { process_tree: Some(ProcessTree { processes: vec![process] }), ..TracePacket::default() };
        let mut bytes = vec![PACKET];
        packet.encode_length_delimited(&mut bytes).unwrap();
        bytes
    }

    /// Packed packets may hold packets, not packed ones, whichever way these are packed.
    #[test]
    fn packed_packets_are_unpacked_once() {
        let zstd = |packets: &[u8]| zstd::bulk::compress(packets, 1).unwrap();
        let zlib = |packets: &[u8]| {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            std::io::Write::write_all(&mut encoder, packets).and_then(|()| encoder.finish()).unwrap()
        };
        let packed = |content: &[u8], by_zstd: bool| {
            let (zstd, zlib) = if by_zstd { (Some(zstd(content)), None) } else { (None, Some(zlib(content))) };
            TracePacket { compressed_packets: zlib, zstd_compressed_packets: zstd, ..TracePacket::default() }
        };
        let inside = |packet: &TracePacket| [&[PACKET][..], &packet.encode_length_delimited_to_vec()].concat();
        for by_zstd in [false, true] {
            let once = packed(&named(7, "mail"), by_zstd);
            let mut collected = Collected::default();
            take(once.clone(), &mut collected).unwrap();
            assert_eq!(collected.finish().1[&7], "mail");
            for outer in [false, true] {
                let twice = packed(&inside(&once), outer);
                assert_eq!(take(twice, &mut Collected::default()), Err("packed packets inside packed packets".into()));
            }
        }
    }

    fn error(content: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.pftrace");
        std::fs::write(&path, content).unwrap();
        let import = super::super::import(&path, &folder.path().join("t.slt"), crate::Codec::Zstd, &Default::default(), &mut |_, _| true);
        import.unwrap_err().to_string().rsplit_once('/').unwrap().1.to_string()
    }

    #[test]
    fn an_error_names_the_byte_and_the_packet() {
        let (short, long) = (named(7, "mail"), named(8, &"m".repeat(300)));
        let good = [&short[..], &long].concat();
        let after = good.len();
        let cases = [
            (vec![0x22], format!("t.pftrace: byte {after}: 0x22")),
            (vec![PACKET], format!("t.pftrace: byte {}: the end of the file", after + 1)),
            (vec![PACKET, 0x80, 0x80], format!("t.pftrace: byte {}: the end of the file", after + 3)),
            (vec![PACKET, 9, 0], format!("t.pftrace: byte {}: packet 2: the file ends inside it", after + 2)),
        ];
        for (end, said) in cases {
            let error = error(&[&good[..], &end].concat());
            assert_eq!(error, format!("{said}; expected a packet of Perfetto's trace format"));
        }
    }
}
