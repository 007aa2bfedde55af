//! The account of a process's anonymous memory in DRAM: memory that counts against the budget,
//! memory that does not, and the kernel's total (`RssAnon`). Each is counted independently, so that
//! a discrepancy can be detected.

use crate::kernel::memory::Bytes;
use crate::kernel::own;
use crate::kernel::pagemap::PageMap;
use crate::kernel::PAGE;
use crate::managed::ManagedMemory;
use crate::spans::{addresses, PageRange, Span};
use crate::stats::{set, Stats};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Result;
use std::sync::atomic::Ordering;

/// The end of user addresses.
#[cfg(target_arch = "x86_64")]
const TOP: usize = (1 << 47) - PAGE;
#[cfg(not(target_arch = "x86_64"))]
const TOP: usize = 1 << 48;

pub fn open_statm() -> Result<OwnedFd> {
    rustix::fs::open("/proc/self/statm", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// The kernel's number of anonymous pages (`RssAnon`) of the process whose `statm` file this is.
pub fn anonymous_pages(statm: impl AsFd) -> usize {
    let mut text = [0u8; 128];
    let n = rustix::io::pread(statm, &mut text, 0).unwrap_or(0);
    let mut numbers = text[..n].split(|b| *b == b' ').map(|w| std::str::from_utf8(w).ok().and_then(|w| w.parse::<usize>().ok()));
    let (_, resident, shared) = (numbers.next(), numbers.next().flatten(), numbers.next().flatten());
    resident.unwrap_or(0).saturating_sub(shared.unwrap_or(0))
}

/// Count the private pages in DRAM in a range of addresses.
fn count(map: &mut PageMap, range: Bytes) -> Result<usize> {
    let mut pages = 0;
    map.scan_dram(range, |run| pages += run.pages().len())?;
    Ok(pages)
}

/// Count the private pages in DRAM outside of `counted`, which are ascending runs of pages.
fn count_outside(map: &mut PageMap, counted: impl Iterator<Item = PageRange>) -> Result<usize> {
    let (mut start, mut pages) = (0, 0);
    for run in counted.chain(std::iter::once(TOP / PAGE..TOP / PAGE)) {
        if start < run.start {
            pages += count(map, start * PAGE..run.start * PAGE)?;
        }
        start = run.end;
    }
    Ok(pages)
}

/// Numbers of private pages in DRAM that do not count against the budget.
#[derive(Clone, Copy, Default)]
pub struct Unmanaged {
    pub all: usize,
    /// Parts of `all`: memory that the program has made executable, and the pager's own.
    code: usize,
    own: usize,
}

/// Count the private pages in DRAM that do not count against the budget.
pub fn unmanaged_pages(map: &mut PageMap, managed: &ManagedMemory) -> Result<Unmanaged> {
    let all = count_outside(map, managed.spans.all().filter(|(_, s)| s.counts()).map(|(piece, _)| piece))?;
    let is_code = |span: &Span| span.is_managed() && !span.counts();
    let code: Vec<PageRange> = managed.spans.all().filter(|(_, s)| is_code(s)).map(|(piece, _)| piece).collect();
    let code = code.into_iter().try_fold(0, |sum, piece| count(map, addresses(&piece)).map(|pages| sum + pages))?;
    let own = own::private().try_fold(0, |sum, range| count(map, range).map(|pages| sum + pages))?;
    Ok(Unmanaged { all, code, own })
}

/// Store the account in the counters, and raise the peaks.
pub fn note(stats: &Stats, managed: usize, Unmanaged { all, code, own }: Unmanaged, anonymous: usize) {
    set(&stats.dram_bytes, managed * PAGE);
    set(&stats.unmanaged_bytes, all * PAGE);
    set(&stats.code_bytes, code * PAGE);
    set(&stats.own_bytes, own * PAGE);
    set(&stats.anonymous_bytes, anonymous * PAGE);
    stats.dram_peak_bytes.fetch_max((managed * PAGE) as u64, Ordering::Relaxed);
    stats.unmanaged_peak_bytes.fetch_max((all * PAGE) as u64, Ordering::Relaxed);
    stats.anonymous_peak_bytes.fetch_max((anonymous * PAGE) as u64, Ordering::Relaxed);
}

impl ManagedMemory {
    /// Count everything and update the counters, in the calling thread.
    pub fn take_account(&self) {
        let Ok(mut map) = PageMap::open() else { return };
        let Ok(statm) = open_statm() else { return };
        let anonymous = anonymous_pages(statm);
        let pieces: Vec<PageRange> = self.spans.all().filter(|(_, s)| s.counts()).map(|(piece, _)| piece).collect();
        let managed = pieces.iter().try_fold(0, |sum, piece| count(&mut map, addresses(piece)).map(|pages| sum + pages));
        if let (Ok(managed), Ok(unmanaged)) = (managed, unmanaged_pages(&mut map, self)) {
            note(self.stats, managed, unmanaged, anonymous);
        }
    }

    /// Update the peaks before the program frees `pages` pages. Memory peaks just before it
    /// shrinks, which happens here or by an eviction. To save time, peaks are only checked once the
    /// pages freed since the last check exceed 1/64 of the peak and 64 pages.
    pub fn before_shrink(&mut self, pages: usize) {
        if self.mode == crate::managed::Mode::Child {
            return;
        }
        self.freed_since_peak += pages;
        let peak = self.stats.anonymous_peak_bytes.load(Ordering::Relaxed) as usize / PAGE;
        if self.freed_since_peak <= (peak / 64).max(64) {
            return;
        }
        self.freed_since_peak = 0;
        let anonymous = open_statm().map_or(0, anonymous_pages);
        if anonymous > peak + peak / 128 {
            self.take_account();
        }
    }
}

/// The account of another process, in bytes: memory that counts against the budget, memory that
/// does not, and the kernel's total. While the process is stopped, the total is the sum of the
/// other two.
pub struct Account {
    pub managed: usize,
    pub unmanaged: usize,
    pub anonymous: usize,
}

/// Take the account of process `pid` now. `stats` is the content of its counters' file. The error
/// is one line.
pub fn look(pid: u32, stats: &[u8]) -> std::result::Result<Account, String> {
    let failed = |e: rustix::io::Errno| format!("/proc/{pid}: {e}");
    let word =
        |pair: &[u8]| pair.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")) as usize).collect::<Vec<_>>();
    let mut counted: Vec<PageRange> =
        stats.get(PAGE..).unwrap_or(&[]).chunks_exact(16).map(|pair| word(pair)[0]..word(pair)[1]).filter(|run| !run.is_empty()).collect();
    counted.sort_unstable_by_key(|run| run.start);
    let mut map = PageMap::open_path(&format!("/proc/{pid}/pagemap")).map_err(|e| e.to_string())?;
    let statm = rustix::fs::open(format!("/proc/{pid}/statm"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    let mut managed = 0;
    for run in &counted {
        managed += count(&mut map, run.start * PAGE..run.end * PAGE).map_err(failed)?;
    }
    let unmanaged = count_outside(&mut map, counted.into_iter()).map_err(failed)?;
    Ok(Account { managed: managed * PAGE, unmanaged: unmanaged * PAGE, anonymous: anonymous_pages(statm) * PAGE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::memory;

    /// The second number of a `statm` file is resident memory, the third what of it is shared or of
    /// files.
    #[test]
    fn anonymous_pages_are_resident_and_not_shared() {
        let pages = |text: &str| {
            let file = rustix::fs::memfd_create(c"statm", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
            rustix::io::write(&file, text.as_bytes()).unwrap();
            anonymous_pages(file)
        };
        assert_eq!([pages("900 70 30 1 0 5 0\n"), pages("900 30 70 1 0 5 0\n"), pages("900 70"), pages("")], [40, 0, 70, 0]);
    }

    #[test]
    fn peaks_stay_when_memory_shrinks() {
        let stats = Stats::new();
        note(&stats, 5, Unmanaged { all: 9, code: 2, own: 3 }, 14);
        note(&stats, 4, Unmanaged { all: 10, code: 1, own: 6 }, 13);
        let counters = stats.read();
        let pages = |name: &str| counters.iter().find(|(known, _)| *known == name).unwrap().1 as usize / PAGE;
        assert_eq!(["dram_bytes", "unmanaged_bytes", "code_bytes", "own_bytes", "anonymous_bytes"].map(pages), [4, 10, 1, 6, 13]);
        assert_eq!(["dram_peak_bytes", "unmanaged_peak_bytes", "anonymous_peak_bytes"].map(pages), [5, 10, 14]);
    }

    /// The peak is taken again only once 65 pages are freed, and where there are more than it says.
    #[test]
    fn the_peak_is_taken_before_memory_shrinks() {
        if let Err(missing) = PageMap::open() {
            eprintln!("skipped: {missing}");
            return;
        }
        static STATS: Stats = Stats::new();
        let mut managed = ManagedMemory::new(64, 8, &STATS).unwrap();
        let peak = || STATS.anonymous_peak_bytes.load(Ordering::Relaxed);
        managed.before_shrink(64);
        assert_eq!(peak(), 0);
        managed.before_shrink(1);
        let taken = peak();
        assert!(taken > 0 && STATS.unmanaged_bytes.load(Ordering::Relaxed) > 0);
        set(&STATS.unmanaged_bytes, 0);
        STATS.anonymous_peak_bytes.store(1 << 40, Ordering::Relaxed);
        managed.before_shrink(1 << 30);
        assert_eq!((peak(), STATS.unmanaged_bytes.load(Ordering::Relaxed)), (1 << 40, 0));
    }

    /// Of this process: the account of a list with one range of memory, of which three pages are
    /// written.
    #[test]
    fn listed_ranges_are_managed_and_all_else_is_not() {
        let range = memory::reserve(8 * PAGE).map(|start| start..start + 8 * PAGE).unwrap();
        // SAFETY: reserved above, and used here alone.
        unsafe { memory::protect(range.clone(), memory::READ_WRITE) }.unwrap();
        memory::no_huge_pages(range.clone());
        for page in [1, 2, 6] {
            // SAFETY: inside the range, which is writable.
            unsafe { std::ptr::write_volatile((range.start + page * PAGE) as *mut u8, 1) };
        }
        // The file of counters is a page of counters, then pairs of first page and end; empty pairs
        // are unused.
        let list = [[0, 0], [range.start / PAGE + 5, range.end / PAGE], [range.start / PAGE, range.start / PAGE + 5]];
        let stats: Vec<u8> =
            std::iter::repeat_n(0, PAGE).chain(list.iter().flatten().flat_map(|word| (*word as u64).to_le_bytes())).collect();
        match look(std::process::id(), &stats) {
            Ok(account) => {
                assert_eq!(account.managed, 3 * PAGE);
                assert!(account.unmanaged >= PAGE && account.anonymous >= PAGE, "{} {}", account.unmanaged, account.anonymous);
            }
            Err(missing) => eprintln!("skipped: {missing}"),
        }
        // SAFETY: nobody uses it any more.
        unsafe { memory::unmap(range) }.unwrap();
    }
}
