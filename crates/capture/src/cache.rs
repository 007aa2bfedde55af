//! Simulated processor caches, as in Cachegrind-based traces: level-one caches for instructions and
//! data, a last level, 64-byte lines, LRU, write-allocate, write-back. Memory sees a read (or
//! fetch) of the page when a line is filled, and a write when a dirty line leaves the last level.
//!
//! Deviations from real processors: one set of caches for all threads, no prefetch, levels neither
//! inclusive nor exclusive.

use swaplab_vocab::{BadInput, Memory, Op, Result, PAGE_SIZE};

const LINE_SHIFT: u32 = 6;
const L1_WAYS: usize = 8;
const LL_WAYS: usize = 16;
const EMPTY: u64 = u64::MAX;

/// A set-associative cache. Each set has its lines from most to least recent, each as
/// `line << 1 | dirty`.
struct Level {
    sets: u64,
    ways: usize,
    lines: Vec<u64>,
}

enum Lookup {
    Hit,
    /// The evicted line, if it was dirty.
    Miss {
        written_back: Option<u64>,
    },
}

impl Level {
    fn new(bytes: u64, ways: usize) -> Level {
        let sets = bytes >> LINE_SHIFT;
        let sets = sets / ways as u64;
        Level { sets, ways, lines: vec![EMPTY; sets as usize * ways] }
    }

    #[inline]
    fn touch(&mut self, line: u64, write: bool) -> Lookup {
        let set = (line % self.sets) as usize * self.ways;
        let ways = &mut self.lines[set..set + self.ways];
        let at = ways.iter().position(|w| *w != EMPTY && w >> 1 == line);
        let last = at.unwrap_or(ways.len() - 1);
        let old = ways[last];
        ways.copy_within(..last, 1);
        match at {
            Some(_) => {
                ways[0] = old | u64::from(write);
                Lookup::Hit
            }
            None => {
                ways[0] = line << 1 | u64::from(write);
                Lookup::Miss { written_back: (old != EMPTY && old & 1 == 1).then_some(old >> 1) }
            }
        }
    }
}

/// Size in bytes of each level-one cache, and of the last level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    pub first: u64,
    pub last: u64,
}

impl CacheSizes {
    /// Parse sizes such as `L1:32KiB,LL:2MiB`. The first size is that of each level-one cache.
    pub fn parse(text: &str) -> Result<CacheSizes> {
        let bad = |found: String| BadInput::new(format!("caches '{text}'"), found, "both sizes, as in L1:32KiB,LL:2MiB");
        let (mut first, mut last) = (None, None);
        for part in text.split(',') {
            let (name, size) = part.split_once(':').ok_or_else(|| bad(format!("'{part}' is not NAME:SIZE")))?;
            let (slot, ways) = match name.trim() {
                "L1" => (&mut first, L1_WAYS),
                "LL" => (&mut last, LL_WAYS),
                other => return Err(bad(format!("no cache is called '{other}'"))),
            };
            let bytes = match Memory::parse(size).map_err(|e| e.within(&format!("caches '{text}'")))? {
                Memory::Bytes(bytes) => bytes,
                Memory::Pages(pages) => pages.saturating_mul(PAGE_SIZE),
                Memory::Percent(_) => return Err(bad("a percentage".into())),
            };
            let set_bytes = (ways as u64) << LINE_SHIFT;
            if bytes % set_bytes != 0 || !(set_bytes..=1 << 32).contains(&bytes) {
                return Err(bad(format!("{size} is not a multiple of {set_bytes} bytes up to 4GiB")));
            }
            *slot = Some(bytes);
        }
        let (Some(first), Some(last)) = (first, last) else { return Err(bad("one of the two is missing".into())) };
        Ok(CacheSizes { first, last })
    }
}

pub struct Caches {
    instructions: Level,
    data: Level,
    last: Level,
}

impl Caches {
    pub fn new(sizes: CacheSizes) -> Caches {
        let first = || Level::new(sizes.first, L1_WAYS);
        Caches { instructions: first(), data: first(), last: Level::new(sizes.last, LL_WAYS) }
    }

    /// Reference `length` bytes at `address`. `through` is called with each resulting memory
    /// reference, (page, operation).
    pub fn touch(&mut self, op: Op, address: u64, length: u64, mut through: impl FnMut(u64, Op)) {
        let page = |line: u64| line >> (12 - LINE_SHIFT);
        for line in address >> LINE_SHIFT..=(address + length.max(1) - 1) >> LINE_SHIFT {
            let first = if op == Op::Fetch { &mut self.instructions } else { &mut self.data };
            let Lookup::Miss { written_back } = first.touch(line, op == Op::Write) else { continue };
            // A dirty line that leaves level one is written to the last level without a read from
            // memory.
            if let Some(Lookup::Miss { written_back: Some(out) }) = written_back.map(|l| self.last.touch(l, true)) {
                through(page(out), Op::Write);
            }
            if let Lookup::Miss { written_back } = self.last.touch(line, false) {
                through(page(line), if op == Op::Fetch { Op::Fetch } else { Op::Read });
                if let Some(out) = written_back {
                    through(page(out), Op::Write);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(caches: &mut Caches, op: Op, address: u64, length: u64) -> Vec<(u64, Op)> {
        let mut out = Vec::new();
        caches.touch(op, address, length, |page, op| out.push((page, op)));
        out
    }

    /// One set a level: 8 lines of data, 16 in the last level. Worked by hand.
    #[test]
    fn a_dirty_line_becomes_a_write_when_both_levels_have_evicted_it() {
        let mut c = Caches::new(CacheSizes::parse("L1:512B,LL:1KiB").unwrap());
        assert_eq!(run(&mut c, Op::Write, 0, 8), [(0, Op::Read)]); // filled first
        assert_eq!(run(&mut c, Op::Read, 60, 8), [(0, Op::Read)]); // line 0 hits, line 1 is new
        assert_eq!(run(&mut c, Op::Read, 0, 128), []);
        // Lines of pages 1..: the eighth pushes line 0 (dirty) out of level one into the last one.
        for page in 1..=16u64 {
            let got = run(&mut c, Op::Read, page << 12, 1);
            // Line 0 became recent in the last level when it was written back (at page 7, just
            // before that page's fill), and leaves it 16 different lines later.
            assert_eq!(got, [(page, Op::Read)], "page {page}");
        }
        let mut writes = Vec::new();
        for page in 17..=40u64 {
            writes.extend(run(&mut c, Op::Read, page << 12, 1).into_iter().filter(|(_, op)| *op == Op::Write).map(|(p, _)| (page, p)));
        }
        assert_eq!(writes, [(22, 0)]);
    }

    #[test]
    fn instructions_and_data_share_only_the_last_level() {
        let mut c = Caches::new(CacheSizes::parse("L1:512B,LL:1KiB").unwrap());
        assert_eq!(run(&mut c, Op::Fetch, 4096, 4), [(1, Op::Fetch)]);
        assert_eq!(run(&mut c, Op::Read, 4096, 4), []);
    }

    #[test]
    fn bad_sizes_are_refused() {
        for text in ["", "L1:32KiB", "L1:32KiB,L2:1MiB", "L1:1000B,LL:2MiB", "L1:5%,LL:2MiB", "L1:32KiB,LL:0B"] {
            assert!(CacheSizes::parse(text).is_err(), "{text}");
        }
    }
}
