//! Named ranges of sectors, and the division of requests at range borders and into pages, shared by
//! the block formats.

use crate::builder::TraceBuilder;
use crate::mappings::ClassAndFile;
use crate::meta::FilePage;
use crate::source::LineError;
use std::collections::BTreeMap;
use std::path::Path;
use swaplab_vocab::{AppId, BadInput, Class, Op, Result};

/// The name of the partition that holds swap.
pub const SWAP: &str = "swap";
/// The name of the partition of all sectors that are in no range.
const REST: &str = "file";
const SECTOR: u64 = 512;
/// Sectors are below this.
const MAX_SECTOR: u64 = 1 << 55;
/// Upper limit for the sectors of a request, 1 GiB. A longer one is an error in the file and would
/// cause references to the whole device.
const MAX_REQUEST: u64 = 1 << 21;

/// Named ranges of sectors, in order and disjoint. In the trace a partition is an app, whose page
/// numbers are places on the device.
#[derive(Default)]
pub struct Partitions {
    /// First and last sector, name.
    ranges: Vec<(u64, u64, String)>,
    apps: BTreeMap<String, AppId>,
    /// The device of the ranges: the one that the trace declares, or that of the first request.
    device: Option<String>,
    /// Number of discard requests, which move no data.
    pub discards: u64,
    pub flushes: u64,
}

impl Partitions {
    /// Load a ranges file (`NAME FIRST LAST` per line, in sectors of 512 bytes) and a `filefrag -e`
    /// listing of the swap file.
    pub fn load(ranges: Option<&Path>, filefrag: Option<&Path>) -> Result<Partitions> {
        let mut partitions = Partitions::default();
        for (path, read) in [(ranges, named as fn(&str, &str) -> Result<_>), (filefrag, extents)] {
            if let Some(path) = path {
                let name = swaplab_vocab::path_for_message(path);
                let text = std::fs::read_to_string(path).map_err(|e| BadInput::io(&name, e))?;
                partitions.ranges.extend(read(&name, &text)?);
            }
        }
        partitions.order()?;
        Ok(partitions)
    }

    fn order(&mut self) -> Result<()> {
        self.ranges.sort();
        for pair in self.ranges.windows(2) {
            if pair[1].0 <= pair[0].1 {
                let found = format!("'{}' from sector {} on begins inside '{}'", pair[1].2, pair[1].0, pair[0].2);
                return Err(BadInput::new("ranges", found, "ranges that do not overlap"));
            }
        }
        Ok(())
    }

    /// Add a range that the trace declares as `NAME DEVICE FIRST END`, `END` excluded. All
    /// declarations must precede the requests.
    pub fn declare(&mut self, text: &str) -> std::result::Result<(), LineError> {
        const SHAPE: LineError =
            LineError::Expected("partition NAME DEVICE FIRST END, in sectors of 512 bytes below 2^55, before any request");
        let [name, device, first, end] = text.split_whitespace().collect::<Vec<_>>()[..] else { return Err(SHAPE) };
        let (Ok(first), Ok(end)) = (first.parse::<u64>(), end.parse::<u64>()) else { return Err(SHAPE) };
        let ours = self.device.get_or_insert_with(|| device.to_string()) == device;
        if !ours || !self.apps.is_empty() || first >= end || end > 1 << 55 {
            return Err(SHAPE);
        }
        self.ranges.push((first, end - 1, name.to_string()));
        Ok(self.order()?)
    }

    /// Import a request of `sectors` from `first` on: count its bytes by partition, and add a
    /// reference to each of its pages.
    pub fn request(
        &mut self,
        builder: &mut TraceBuilder,
        device: &str,
        op: Op,
        first: u64,
        sectors: u64,
    ) -> std::result::Result<(), LineError> {
        let end = first.checked_add(sectors).filter(|end| *end < MAX_SECTOR).ok_or(LineError::Expected("sectors below 2^55"))?;
        if sectors > MAX_REQUEST {
            return Err(LineError::Found(format!("a request of {sectors} sectors"), "at most 1 GiB in one request"));
        }
        let ours = self.device.get_or_insert_with(|| device.to_string()) == device;
        let mut at = first;
        while at < end {
            let (name, until) = match ours {
                true => self.range_at(at),
                false => (format!("device {device}"), u64::MAX),
            };
            let until = until.min(end);
            self.part(builder, &name, op, at, until)?;
            at = until;
        }
        Ok(())
    }

    /// The partition of a sector, and the first later sector that may be in another partition.
    fn range_at(&self, sector: u64) -> (String, u64) {
        let next = self.ranges.partition_point(|(_, last, _)| *last < sector);
        match self.ranges.get(next) {
            Some((first, last, name)) if *first <= sector => (name.clone(), last + 1),
            Some((first, _, _)) => (REST.into(), *first),
            None => (REST.into(), u64::MAX),
        }
    }

    fn part(&mut self, builder: &mut TraceBuilder, name: &str, op: Op, first: u64, end: u64) -> std::result::Result<(), LineError> {
        let app = match self.apps.get(name) {
            Some(app) => *app,
            None => {
                let app = builder.app(name, None)?;
                self.apps.insert(name.into(), app);
                app
            }
        };
        let traffic = builder.meta.partitions.entry(name.into()).or_default();
        match op.is_write() {
            true => traffic.write_bytes += (end - first) * SECTOR,
            false => traffic.read_bytes += (end - first) * SECTOR,
        }
        let class = if name == SWAP { Class::Anonymous } else { Class::Shared };
        let known = ClassAndFile { class, file_page: FilePage::default() };
        for page in first / 8..=(end - 1) / 8 {
            // The class of a page is that of its partition, so it never differs from an earlier
            // one.
            let _same = builder.access_as(app, page, op, known)?;
        }
        Ok(())
    }

    /// Write the partitions to the trace's provenance.
    pub fn finish(self, builder: &mut TraceBuilder) {
        builder.meta.provenance.insert("discards".into(), self.discards.to_string());
        builder.meta.provenance.insert("flushes".into(), self.flushes.to_string());
    }
}

type Ranges = Vec<(u64, u64, String)>;

fn named(name: &str, text: &str) -> Result<Ranges> {
    let line = |(number, line): (usize, &str)| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields.as_slice() {
            [] => Ok(None),
            [first, ..] if first.starts_with('#') => Ok(None),
            [partition, first, last] => match (first.parse::<u64>(), last.parse::<u64>()) {
                (Ok(first), Ok(last)) if first <= last && last < MAX_SECTOR => Ok(Some((first, last, partition.to_string()))),
                _ => Err(number),
            },
            _ => Err(number),
        }
    };
    let read: std::result::Result<Vec<_>, _> = text.lines().enumerate().map(line).collect();
    read.map(|all| all.into_iter().flatten().collect()).map_err(|number: usize| {
        let line = text.lines().nth(number).unwrap_or_default();
        BadInput::new(
            format!("{name}: line {}", number + 1),
            format!("'{line}'"),
            "NAME FIRST LAST: a partition and its sectors of 512 bytes",
        )
    })
}

/// `filefrag -e` (with or without `-b512`): physical extents of the swap file.
fn extents(name: &str, text: &str) -> Result<Ranges> {
    let block = text.split(" blocks of ").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let block = block
        .filter(|b| *b >= SECTOR && b % SECTOR == 0)
        .ok_or_else(|| BadInput::new(name, "no line 'File size of .. (N blocks of B bytes)'", "the output of filefrag -e"))?;
    let scale = block / SECTOR;
    let mut extents = Ranges::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        let (Some(Ok(_)), Some(physical)) = (fields.first().map(|f| f.parse::<u64>()), fields.get(2)) else { continue };
        let Some((first, last)) = physical.split_once("..") else { continue };
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
            let sectors = first.checked_mul(scale).zip(last.checked_add(1).and_then(|end| end.checked_mul(scale)));
            match sectors.filter(|(from, to)| from < to && *to <= MAX_SECTOR) {
                Some((from, to)) => extents.push((from, to - 1, SWAP.to_string())),
                None => {
                    return Err(BadInput::new(name, format!("an extent from {first} to {last}"), "blocks in order, sectors below 2^55"))
                }
            }
        }
    }
    if extents.is_empty() {
        return Err(BadInput::new(name, "no extents", "the output of filefrag -e"));
    }
    Ok(extents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_extents_are_read_in_sectors() {
        let listing = "File size of s is 8192 (2 blocks of 4096 bytes)\n ext: logical_offset: physical_offset: length: expected: flags:\n   0: 0.. 0: 10.. 10: 1:\n   1: 1.. 1: 20.. 21: 2: 11: last,eof\n";
        assert_eq!(extents("f", listing).unwrap(), [(80, 87, "swap".into()), (160, 175, "swap".into())]);
        assert_eq!(named("r", "# c\n/system 0 99\n\n/data 100 199\n").unwrap().len(), 2);
        assert!(extents("f", "nothing").is_err());
        let none = extents("f", &listing.replace("10.. 10", "10.. 9")).unwrap_err().to_string();
        assert_eq!(none, "f: an extent from 10 to 9; expected blocks in order, sectors below 2^55");
        let e = named("r", "/system 0 99\n/data 7").unwrap_err().to_string();
        assert_eq!(e, "r: line 2: '/data 7'; expected NAME FIRST LAST: a partition and its sectors of 512 bytes");
    }

    #[test]
    fn the_rest_lies_between_the_ranges() {
        let p = Partitions { ranges: vec![(10, 19, "a".into()), (30, 39, "b".into())], ..Partitions::default() };
        assert_eq!(p.range_at(0), ("file".into(), 10));
        assert_eq!(p.range_at(10), ("a".into(), 20));
        assert_eq!(p.range_at(19), ("a".into(), 20));
        assert_eq!(p.range_at(20), ("file".into(), 30));
        assert_eq!(p.range_at(40), ("file".into(), u64::MAX));
    }

    #[test]
    fn ranges_may_touch_and_not_overlap() {
        let of = |second: u64| Partitions { ranges: vec![(second, 39, "b".into()), (10, 19, "a".into())], ..Partitions::default() }.order();
        of(20).unwrap();
        assert_eq!(of(19).unwrap_err().to_string(), "ranges: 'b' from sector 19 on begins inside 'a'; expected ranges that do not overlap");
    }
}
