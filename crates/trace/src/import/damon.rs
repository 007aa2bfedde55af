//! `damon`: snapshots of the kernel's access monitor DAMON. Accepted are a record of `damo` (JSON,
//! also compressed), the output of `damo report access --raw_form` (`damo report raw` in older
//! versions), and the tracepoint's lines (`perf script`, ftrace).
//!
//! A snapshot has, for each region, the number of samples in which the region was accessed; DAMON
//! assumes equal access to all pages of a region. The importer turns a snapshot into sweeps, as
//! many as the highest such number. A region takes part in as many sweeps as it has accesses,
//! evenly spaced, and each sweep reads each of its pages once. DAMON knows neither which accesses
//! are writes nor their order within a snapshot, so all are reads, and regions of a sweep are in
//! order of address. A DAMON target becomes an app.

use super::{decimal, hexadecimal, Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::meta::Kind;
use crate::source::{read_to_end, LineError, Lines, Source};
use crate::Mark;
use serde::Deserialize;
use serde_json::Value;
use swaplab_vocab::{BadInput, Op, Result};

pub static FORMAT: Format = Format {
    key: "damon",
    what: "DAMON's snapshots: a damo record, its raw report, or damon_aggregated events",
    source: "Linux mm/damon; damo",
    parameters: &[],
    info: Info { kind: Kind::Page, own_options: &[], detect, import },
};

const EVENT: &str = "damon_aggregated: target_id=";
/// Upper limit for the size of a region; a larger one is an error in the file.
const MOST_BYTES: u64 = 1 << 40;
const MOST_DOCUMENT: usize = 2 << 30;
/// Upper limit for the memory that all snapshots of a file saw accessed: each of its pages is a
/// page of the trace.
const MOST_ACCESSED: u64 = 32 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    start: u64,
    end: u64,
    accesses: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Snapshot {
    target: String,
    end_ns: u64,
    regions: Vec<Region>,
    /// Number of regions announced for the snapshot, of which some may still follow.
    wanted: usize,
}

fn detect(_: &str, head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.starts_with("base_time_absolute:") || text.contains(EVENT) || (text.starts_with('[') && text.contains("\"snapshots\""))
}

fn import(source: &mut Source, builder: &mut TraceBuilder, options: &Options) -> Result<()> {
    let name = source.name.clone();
    let mut snapshots = match source.head().trim_ascii_start().first() {
        Some(b'[') => document(&name, &read_to_end(source, MOST_DOCUMENT)?)?,
        _ => text(source)?,
    };
    let Some(start) = snapshots.iter().map(|s| s.end_ns).min() else {
        return Err(BadInput::new(name, "no snapshot in it", "what damo records or reports, or damon_aggregated events"));
    };
    if accessed(&snapshots) > MOST_ACCESSED {
        return Err(BadInput::new(name, "accesses to more than 32 GiB of memory", "at most that: a region counts with all of its pages"));
    }
    // A record lists its targets one after the other; in the trace their snapshots are merged by
    // time.
    snapshots.sort_by_key(|s| s.end_ns);
    for snapshot in &snapshots {
        builder.mark(Mark::Time { ns: snapshot.end_ns - start })?;
        emit(builder, snapshot, options.page_size.trailing_zeros())?;
    }
    Ok(())
}

/// The bytes of memory that were accessed in at least one snapshot.
fn accessed(snapshots: &[Snapshot]) -> u64 {
    let regions = snapshots.iter().flat_map(|s| s.regions.iter().map(|region| (s.target.as_str(), region)));
    let mut accessed: Vec<_> = regions.filter(|(_, r)| r.accesses > 0).map(|(target, r)| (target, r.start, r.end)).collect();
    accessed.sort_unstable();
    let (mut bytes, mut target, mut reached) = (0, "", 0);
    for (of, start, end) in accessed {
        if of != target {
            (target, reached) = (of, 0);
        }
        bytes += end.saturating_sub(reached.max(start));
        reached = reached.max(end);
    }
    bytes
}

fn emit(builder: &mut TraceBuilder, snapshot: &Snapshot, shift: u32) -> Result<()> {
    let app = builder.app(&format!("target {}", snapshot.target), None)?;
    let sweeps = snapshot.regions.iter().map(|r| r.accesses).max().unwrap_or(0);
    for sweep in 1..=sweeps {
        for region in &snapshot.regions {
            // The region takes part in this sweep if its evenly spaced accesses reach the next
            // integer here.
            if sweep * region.accesses / sweeps > (sweep - 1) * region.accesses / sweeps {
                for page in region.start >> shift..(region.end + (1 << shift) - 1) >> shift {
                    builder.access(app, page, Op::Read)?;
                }
            }
        }
    }
    Ok(())
}

fn region(start: u64, end: u64, accesses: u64) -> Option<Region> {
    (start < end && end - start <= MOST_BYTES && end < 1 << 63 && accesses <= 1 << 20).then_some(Region { start, end, accesses })
}

const REGION: LineError =
    LineError::Expected("a region: START-END below 2^63 and at most 1 TiB long, its accesses (at most 2^20) and its age");

/// The raw report, or the tracepoint's lines.
fn text(source: &mut Source) -> Result<Vec<Snapshot>> {
    let (mut snapshots, mut base, mut end_ns): (Vec<Snapshot>, u64, u64) = (Vec::new(), 0, 0);
    Lines::new(source).each(|line| {
        let line = String::from_utf8_lossy(line);
        let time = |text: &str| nanoseconds(text).ok_or(LineError::Expected("a time, such as '1 m 2.500 s', after the colon"));
        if let Some((head, event)) = line.split_once(EVENT) {
            return tracepoint(head, event, &mut snapshots).ok_or(REGION);
        } else if let Some(text) = line.strip_prefix("base_time_absolute:") {
            base = time(text)?;
        } else if let Some(text) = line.strip_prefix("monitoring_end:") {
            end_ns = base.saturating_add(time(text)?);
        } else if let Some(target) = line.strip_prefix("target_id:") {
            snapshots.push(Snapshot { target: target.trim().into(), end_ns, ..Snapshot::default() });
        } else if line.as_bytes()[0].is_ascii_hexdigit() {
            let region = report_row(&line).ok_or(REGION)?;
            let snapshot = snapshots.last_mut().ok_or(LineError::Expected("target_id: before the first region"))?;
            snapshot.regions.push(region);
        }
        Ok(())
    })?;
    Ok(snapshots)
}

/// `7f3c00000000-7f3c00400000 (   4.000 MiB)          15    3`.
fn report_row(line: &str) -> Option<Region> {
    let (start, rest) = line.split_once('-')?;
    let (end, rest) = rest.split_once('(')?;
    let accesses = rest.split_once(')')?.1.split_whitespace().next()?;
    let hex = |text: &str| hexadecimal(text.trim().as_bytes());
    region(hex(start)?, hex(end)?, decimal(accesses.as_bytes())?)
}

/// `.. 82877.315633: damon:damon_aggregated: target_id=0 nr_regions=17 START-END: ACCESSES AGE`, in
/// decimal.
fn tracepoint(head: &str, event: &str, snapshots: &mut Vec<Snapshot>) -> Option<()> {
    let time = head.split_whitespace().rev().find_map(|word| {
        let (whole, fraction) = word.strip_suffix(':')?.split_once('.')?;
        let fraction = format!("{fraction:0<9}");
        decimal(whole.as_bytes())?.checked_mul(1_000_000_000)?.checked_add(decimal(fraction.get(..9)?.as_bytes())?)
    })?;
    let mut words = event.split_whitespace();
    let target = words.next()?;
    let wanted = decimal(words.next()?.strip_prefix("nr_regions=")?.as_bytes())? as usize;
    let (start, end) = words.next()?.strip_suffix(':')?.split_once('-')?;
    let (start, end) = (decimal(start.as_bytes())?, decimal(end.as_bytes())?);
    if start == end {
        // damo ends a record of a single snapshot with an empty region of -1 accesses, which
        // encodes the snapshot's length.
        return Some(());
    }
    let region = region(start, end, decimal(words.next()?.as_bytes())?)?;
    match snapshots.iter_mut().rev().find(|s| s.target == target).filter(|s| s.regions.len() < s.wanted && s.end_ns <= time) {
        Some(open) => open.regions.push(region),
        None => snapshots.push(Snapshot { target: target.into(), end_ns: time, regions: vec![region], wanted }),
    }
    Some(())
}

#[derive(Deserialize)]
struct Record {
    target_id: Value,
    snapshots: Vec<RecordSnapshot>,
}

#[derive(Deserialize)]
struct RecordSnapshot {
    end_time: Value,
    regions: Vec<RecordRegion>,
}

#[derive(Deserialize)]
struct RecordRegion {
    start: Value,
    end: Value,
    nr_accesses: Accesses,
}

#[derive(Deserialize)]
struct Accesses {
    samples: Value,
}

/// A number as JSON or as text, in which damo groups digits by commas.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => decimal(text.replace(',', "").as_bytes()),
        _ => None,
    }
}

fn document(name: &str, bytes: &[u8]) -> Result<Vec<Snapshot>> {
    let records: Vec<Record> = serde_json::from_slice(bytes).map_err(|e| {
        BadInput::new(format!("{name}: line {}", e.line()), e.to_string(), "a damo record: a list of targets with snapshots")
    })?;
    let bad = |place: String, found: &Value| BadInput::new(place, found.to_string(), "a number damo writes; regions of at most 1 TiB");
    let mut snapshots = Vec::new();
    for record in records {
        let target = record.target_id.as_str().map_or_else(|| record.target_id.to_string(), str::to_owned);
        for (at, snapshot) in record.snapshots.into_iter().enumerate() {
            let place = |key: &str| format!("{name}: target {target}: snapshot {at}: {key}");
            let time = match &snapshot.end_time {
                Value::String(text) => nanoseconds(text),
                other => number(other),
            };
            let end_ns = time.ok_or_else(|| bad(place("end_time"), &snapshot.end_time))?;
            let mut regions = Vec::new();
            for r in &snapshot.regions {
                let parsed = match (number(&r.start), number(&r.end), number(&r.nr_accesses.samples)) {
                    (Some(start), Some(end), Some(accesses)) => region(start, end, accesses),
                    _ => None,
                };
                regions.push(parsed.ok_or_else(|| bad(place("regions"), &r.start))?);
            }
            snapshots.push(Snapshot { target: target.clone(), end_ns, regions, wanted: 0 });
        }
    }
    Ok(snapshots)
}

/// `8 m 59.809 s`, `100.003 ms`, `0 ns`, or nanoseconds alone; digits may be grouped by commas.
fn nanoseconds(text: &str) -> Option<u64> {
    let text = text.replace(',', "");
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [alone] = words[..] {
        return decimal(alone.as_bytes());
    }
    let unit = |name: &str| {
        Some(match name {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            "d" => 86400e9,
            _ => return None,
        })
    };
    let parts = words.chunks(2).map(|pair| match pair {
        [amount, name] => Some(amount.parse::<f64>().ok().filter(|a| (0.0..1e9).contains(a))? * unit(name)?),
        _ => None,
    });
    let sum = parts.sum::<Option<f64>>()?;
    (!words.is_empty() && sum < 9e18).then_some(sum.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_damo_prints_them() {
        assert_eq!(nanoseconds(" 8 m 59.809 s"), Some(539_809_000_000));
        assert_eq!(nanoseconds("100.003 ms"), Some(100_003_000));
        assert_eq!(nanoseconds("1,234"), Some(1234));
        assert_eq!(nanoseconds("1 d 2 h 3 us 4 ns"), Some((26 * 3600) * 1_000_000_000 + 3_004));
        for bad in ["", "1 s 2", "1 parsec", "-1 s", "x"] {
            assert_eq!(nanoseconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn memory_counts_once_for_each_target_and_only_where_it_was_accessed() {
        let snapshot = |target: &str, regions: &[(u64, u64, u64)]| Snapshot {
            target: target.into(),
            regions: regions.iter().map(|(start, end, accesses)| region(*start, *end, *accesses).unwrap()).collect(),
            ..Snapshot::default()
        };
        let first = snapshot("a", &[(0, 100, 1), (100, 1 << 40, 0), (300, 400, 2)]);
        let second = snapshot("a", &[(50, 150, 7), (310, 320, 1)]);
        assert_eq!(accessed(&[first, second, snapshot("b", &[(0, 100, 1)])]), 150 + 100 + 100);
        assert_eq!(accessed(&[]), 0);
    }

    #[test]
    fn rows_of_each_form() {
        let row = "7f3c00000000-7f3c00400000 (   4.000 MiB)          15     3";
        assert_eq!(report_row(row), Some(Region { start: 0x7f3c_0000_0000, end: 0x7f3c_0040_0000, accesses: 15 }));
        let mut snapshots = Vec::new();
        let head = "kdamond.0  4452 [000] 82877.315633: damon:";
        for event in ["7 nr_regions=2 4096-8192: 0 3", "7 nr_regions=2 8192-20480: 5 3", "7 nr_regions=1 8192-20480: 1"] {
            tracepoint(head, event, &mut snapshots).unwrap();
        }
        assert_eq!(
            snapshots.iter().map(|s| (s.end_ns, s.regions.len())).collect::<Vec<_>>(),
            [(82_877_315_633_000, 2), (82_877_315_633_000, 1)]
        );
        assert_eq!(tracepoint(head, "7 nr_regions=1 8192-4096: 0 3", &mut snapshots), None);
    }
}
