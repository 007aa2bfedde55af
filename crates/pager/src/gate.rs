//! Gates of fresh memory. A program can fill fresh memory faster than the pager evicts pages. So,
//! once half of the budget is in DRAM, untouched memory is gated: its first access waits for the
//! pager, which makes room and then opens the gated part of the chunk, one wait for 128 pages or
//! more. Without gates, a program could exceed its budget between two censuses.
//!
//! Reserved address space that the program cannot access yet is gated too. The gate stays when the
//! program commits it by `mprotect` or gets it by `mmap`, so that no fresh memory escapes the gates
//! while a long round lasts.

use crate::kernel::uffd::{Uffd, Watch};
use crate::kernel::PAGE;
use crate::managed::bit::*;
use crate::managed::{Gate, ManagedMemory};
use crate::spans::{addresses, PageRange};
use crate::CHUNK;
use std::ops::Range;

/// Gate all untouched memory that is evictable, or would be once the program can access it.
pub fn close(uffd: &Uffd, managed: &mut ManagedMemory) {
    for run in runs_with(managed, Gate::Unseen) {
        let mut start = run.start;
        while start < run.end {
            // Gate the untouched pages up to the end of the run, or else up to the last chunk
            // boundary.
            let untouched = managed.state.leading(start..run.end, is_untouched);
            let end = if start + untouched == run.end { run.end } else { ((start + untouched) / CHUNK * CHUNK).max(start) };
            if end > start {
                if uffd.register(addresses(&(start..end)), Watch::Missing).is_ok() {
                    managed.gates.set(start..end, Gate::Gated);
                }
                start = end;
            }
            if start < run.end {
                // This chunk is in use already.
                let end = ((start / CHUNK + 1) * CHUNK).min(run.end);
                managed.gates.set(start..end, Gate::Open);
                start = end;
            }
        }
    }
}

/// Gate also the untouched pages of chunks that are in use, where they are many in a row. Returns
/// the number of the others.
pub fn close_used(uffd: &Uffd, managed: &mut ManagedMemory) -> usize {
    let mut left = 0;
    for run in runs_with(managed, Gate::Open) {
        let mut page = run.start;
        while page < run.end {
            let untouched = page..page + managed.state.leading(page..run.end, is_untouched);
            page = untouched.end + managed.state.leading(untouched.end..run.end, |s| !is_untouched(s));
            if untouched.len() >= LEAST_RUN && uffd.register(addresses(&untouched), Watch::Missing).is_ok() {
                managed.gates.set(untouched, Gate::Gated);
            } else {
                left += untouched.len();
            }
        }
    }
    left
}

/// The runs of memory with `gate` that can be gated.
fn runs_with(managed: &ManagedMemory, gate: Gate) -> Vec<PageRange> {
    let pieces = managed.spans.all().filter(|(_, span)| span.gateable()).flat_map(|(piece, _)| managed.gates.pieces(piece));
    pieces.filter(|(_, now)| *now == gate).map(|(run, _)| run).collect()
}

/// Whether a page is not mapped from the store, and the last census did not see it in DRAM.
fn is_untouched(state: u8) -> bool {
    state & (KNOWN | PAGED) == 0
}

/// The least number of pages that get a gate of their own in a chunk that is in use: each gate is a
/// mapping of the process, of which the kernel allows some ten thousand.
const LEAST_RUN: usize = CHUNK / 4;

/// Whether the first access to `page` waits for the pager.
pub fn is_closed(managed: &ManagedMemory, page: usize) -> bool {
    managed.gates.at(page) == Gate::Gated
}

/// How many chunks one wait opens. A program that fills memory in order of addresses would wait for
/// each chunk; so each wait for the chunk after those of the last wait opens twice as many chunks.
#[derive(Default)]
pub struct Ahead {
    /// The chunks that the last wait opened.
    last: Range<usize>,
}

impl Ahead {
    /// Open the gates for a thread that waits at `page`, and wake it, while `room` more pages may
    /// come to DRAM before the next round. Returns the number of opened pages.
    pub fn open(&mut self, uffd: &Uffd, managed: &mut ManagedMemory, page: usize, room: usize) -> usize {
        let stale = self.advance(page / CHUNK, room / CHUNK);
        let opened: Vec<PageRange> =
            managed.gates.pieces(pages(stale)).filter(|(_, gate)| *gate == Gate::Open).map(|(run, _)| run).collect();
        // What of it is untouched is gated again by the next `close`.
        opened.into_iter().for_each(|run| managed.gates.set(run, Gate::Unseen));
        let range = pages(self.last.clone());
        let gated: Vec<PageRange> =
            managed.gates.pieces(range.clone()).filter(|(_, gate)| *gate == Gate::Gated).map(|(run, _)| run).collect();
        for run in &gated {
            managed.gates.set(run.clone(), Gate::Open);
            let _ = uffd.unregister(addresses(run));
        }
        let _ = uffd.wake(addresses(&range));
        gated.iter().map(PageRange::len).sum()
    }

    /// Set `last` to the chunks to open for a wait at `chunk`: if it does not follow the last wait,
    /// one, otherwise up to a quarter of `room` chunks. Returns the chunks that the last wait
    /// opened although no thread had asked for them, if the program may have left them.
    fn advance(&mut self, chunk: usize, room: usize) -> Range<usize> {
        let last = self.last.clone();
        let follows = chunk == last.end;
        let count = if follows { (2 * last.len()).min(room / 4).max(1) } else { 1 };
        self.last = chunk..chunk + count;
        if follows {
            0..0
        } else {
            last.end.min(last.start + 1)..last.end
        }
    }
}

/// The pages of `chunks`.
fn pages(chunks: Range<usize>) -> PageRange {
    chunks.start * CHUNK..chunks.end * CHUNK
}

/// Fill the missing page at `address` with zeros and wake its waiters, whatever its gate.
pub fn open_page(uffd: &Uffd, address: usize) {
    let _ = uffd.fill_zero(address / PAGE * PAGE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::memory::{self, READ_WRITE};
    use crate::stats::Stats;

    /// Managed memory of that many chunks, with a userfaultfd; None where the kernel has none.
    fn managed_of(chunks: usize) -> Option<(Uffd, ManagedMemory)> {
        static STATS: Stats = Stats::new();
        let uffd = Uffd::open().inspect_err(|missing| eprintln!("skipped: {missing}")).ok()?;
        Some((uffd, ManagedMemory::new(chunks * CHUNK, usize::MAX, &STATS).unwrap()))
    }

    /// Whether the kernel reports missing pages at `page` to a userfaultfd (the flag `um`).
    fn is_registered(page: usize) -> bool {
        let mut inside = false;
        for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
            if let Some((start, end)) = line.split_once(' ').and_then(|(range, _)| range.split_once('-')) {
                let bounds = [start, end].map(|bound| usize::from_str_radix(bound, 16));
                if let [Ok(start), Ok(end)] = bounds {
                    inside = (start..end).contains(&(page * PAGE));
                }
            }
            if inside && line.starts_with("VmFlags:") {
                return line.split(' ').any(|flag| flag == "um");
            }
        }
        false
    }

    /// A reservation that is committed by `mprotect`, and a new mapping in the reserved range. A
    /// page that is unmapped and mapped again has no gate until the next `close`.
    #[test]
    fn memory_that_is_committed_after_the_gates_were_closed_is_gated() {
        let Some((uffd, mut managed)) = managed_of(4) else { return };
        let reservation = managed.take(CHUNK * PAGE, 0).unwrap() / PAGE;
        close(&uffd, &mut managed);
        // SAFETY: a page of the reservation made above.
        let call = |bytes| unsafe { memory::protect(bytes, READ_WRITE) };
        managed.protect(reservation..reservation + 1, READ_WRITE, None, call).unwrap();
        let mapped = managed.take(PAGE, READ_WRITE).unwrap() / PAGE;
        for page in [reservation, mapped] {
            assert!(is_closed(&managed, page) && is_registered(page));
        }
        managed.give_back(mapped..mapped + 1).unwrap();
        assert!(!is_closed(&managed, mapped) && !is_registered(mapped));
        close(&uffd, &mut managed);
        assert!(is_closed(&managed, mapped) && is_registered(mapped));
    }

    /// Half of a reservation, whose first page has content.
    #[test]
    fn memory_that_is_mapped_over_keeps_its_gate_and_reads_as_zeros() {
        let Some((uffd, mut managed)) = managed_of(4) else { return };
        let page = managed.take(CHUNK * PAGE, READ_WRITE).unwrap() / PAGE;
        // SAFETY: a page that was mapped above.
        unsafe { *((page * PAGE) as *mut u8) = 7 };
        close(&uffd, &mut managed);
        assert_eq!(managed.map_over(page..page + CHUNK / 2, READ_WRITE), Ok(true));
        assert!(is_closed(&managed, page) && is_registered(page));
        open_page(&uffd, page * PAGE);
        // SAFETY: as above.
        assert_eq!(unsafe { *((page * PAGE) as *const u8) }, 0);
        managed.state[page] |= PAGED;
        assert_eq!(managed.map_over(page..page + 1, READ_WRITE), Ok(false));
        assert_eq!(managed.map_over(page + 1..page + 2, memory::EXECUTE), Ok(false));
        assert_eq!(managed.map_over(page + 3 * CHUNK..page + 3 * CHUNK + 1, READ_WRITE), Ok(false));
    }

    /// The pages that are in use leave runs of 3, `LEAST_RUN`, many and 1 untouched pages.
    #[test]
    fn untouched_pages_of_a_chunk_in_use_are_gated_where_they_are_many() {
        let Some((uffd, mut managed)) = managed_of(4) else { return };
        let page = managed.take(CHUNK * PAGE, READ_WRITE).unwrap() / PAGE;
        managed.gates.set(page..page + CHUNK, Gate::Open);
        for used in [3, 4 + LEAST_RUN, CHUNK - 2] {
            managed.state[page + used] |= KNOWN;
        }
        assert_eq!(close_used(&uffd, &mut managed), 4);
        let closed: Vec<usize> = (0..CHUNK).filter(|at| is_closed(&managed, page + at)).collect();
        assert_eq!(closed, (4..4 + LEAST_RUN).chain(5 + LEAST_RUN..CHUNK - 2).collect::<Vec<usize>>());
        assert!(is_registered(page + 4) && !is_registered(page + 3) && !is_registered(page + CHUNK - 1));
    }

    /// Of room for eight chunks each wait may use two, although the third would be due four.
    #[test]
    fn a_wait_opens_a_quarter_of_the_room_at_most() {
        let Some((uffd, mut managed)) = managed_of(16) else { return };
        let first = (managed.take(10 * CHUNK * PAGE, READ_WRITE).unwrap() / PAGE).next_multiple_of(CHUNK);
        managed.gates.set(first..first + 8 * CHUNK, Gate::Gated);
        let mut ahead = Ahead::default();
        let opened = [0, 1, 3].map(|chunk| ahead.open(&uffd, &mut managed, first + chunk * CHUNK, 8 * CHUNK) / CHUNK);
        assert_eq!((opened, is_closed(&managed, first + 5 * CHUNK)), ([1, 2, 2], true));
    }

    #[test]
    fn waits_that_follow_each_other_open_twice_as_many_chunks_within_the_room() {
        let mut ahead = Ahead::default();
        let mut open = |chunk, room| (ahead.advance(chunk, room), ahead.last.clone());
        assert_eq!([open(7, 64), open(8, 64), open(10, 64), open(14, 64)], [7..8, 8..10, 10..14, 14..22].map(|now| (0..0, now)));
        assert_eq!([open(22, 16), open(26, 0)], [22..26, 26..27].map(|now| (0..0, now)));
        assert_eq!([open(27, 64), open(29, 64), open(40, 64)], [(0..0, 27..29), (0..0, 29..33), (30..33, 40..41)]);
        assert_eq!(open(33, 64), (41..41, 33..34));
    }

    #[test]
    fn a_page_is_untouched_until_a_census_or_an_eviction() {
        assert_eq!([0, SEEN, KNOWN, PAGED, PAGED | OUT].map(is_untouched), [true, true, false, false, false]);
    }
}
