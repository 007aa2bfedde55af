//! The pager's own address space: one range that is reserved at the start. If the kernel placed
//! what the pager maps later, that could lie where the program has just unmapped something, and a
//! program may map over such addresses again (`MAP_FIXED`).
//!
//! Private memory is taken from the start of the range, mappings of files from its end. All of it
//! is static and without locks, as the pager's allocator takes its memory here and a fork copies it
//! at any moment.

use super::memory::{self, Bytes};
use super::PAGE;
use rustix::fd::OwnedFd;
use rustix::io::Result;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The reserved range; zeros before [`reserve`].
static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
/// The part of it that has not been in use, as a word of [`Ranges`]; 0 before [`reserve`].
static UNUSED: AtomicU64 = AtomicU64::new(0);

/// Private memory that the kernel has placed: the allocator's, and what had no room in the range.
static ELSEWHERE: Ranges<4096> = Ranges([const { AtomicU64::new(0) }; 4096]);
/// Parts of the range that were in use and can be used again.
static FREE: Ranges<256> = Ranges([const { AtomicU64::new(0) }; 256]);

/// Bits of a word that hold a range's number of pages. The other 36 hold the number of its first
/// page.
const PAGES: u32 = 28;

fn word_of(range: &Bytes) -> u64 {
    (((range.start / PAGE) << PAGES) | (range.len() / PAGE)) as u64
}

fn range_of(word: u64) -> Bytes {
    let (start, pages) = ((word >> PAGES) as usize, (word & ((1 << PAGES) - 1)) as usize);
    start * PAGE..(start + pages) * PAGE
}

/// A set of ranges. Each is one word, so that it changes at once; 0 is no range.
struct Ranges<const N: usize>([AtomicU64; N]);

impl<const N: usize> Ranges<N> {
    /// Add a range, if there is room for it.
    fn add(&self, range: &Bytes) {
        let word = word_of(range);
        let _ = self.0.iter().find(|slot| slot.compare_exchange(0, word, Ordering::AcqRel, Ordering::Relaxed).is_ok());
    }

    /// Remove a range that `is` wanted.
    fn remove(&self, is: impl Fn(&Bytes) -> bool) -> Option<Bytes> {
        self.0.iter().find_map(|slot| {
            let word = slot.load(Ordering::Acquire);
            let found = word != 0 && is(&range_of(word)) && slot.compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            found.then(|| range_of(word))
        })
    }

    fn all(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.0.iter().map(|slot| slot.load(Ordering::Acquire)).filter(|word| *word != 0).map(range_of)
    }
}

/// Reserve the range, of `len` bytes, unless this process has one.
pub fn reserve(len: usize) -> Result<()> {
    if START.load(Ordering::Acquire) != 0 {
        return Ok(());
    }
    let start = memory::reserve(len)?;
    if START.compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: reserved above, and another thread's range is used.
        return unsafe { memory::unmap(start..start + len) };
    }
    END.store(start + len, Ordering::Release);
    UNUSED.store(word_of(&(start..start + len)), Ordering::Release);
    Ok(())
}

/// Whether the pager owns `range` by [`reserve`].
fn is_reserved(range: &Bytes) -> bool {
    range.start >= START.load(Ordering::Acquire) && range.end <= END.load(Ordering::Acquire)
}

/// Take `len` bytes of address space without access for private memory.
pub fn take(len: usize) -> Result<usize> {
    let before = unused().start;
    match FREE.remove(|range| range.len() == len && range.start < before) {
        Some(range) => Ok(range.start),
        None => shrink_unused(len, |unused| unused.start + len..unused.end).map_or_else(|| take_elsewhere(len), |was| Ok(was.start)),
    }
}

fn unused() -> Bytes {
    range_of(UNUSED.load(Ordering::Acquire))
}

/// Take `len` bytes off the part that has not been in use: `to` returns what remains of it. Returns
/// what it was, or `None` if it was too small.
fn shrink_unused(len: usize, to: impl Fn(Bytes) -> Bytes) -> Option<Bytes> {
    let next = |was: u64| (range_of(was).len() >= len).then(|| word_of(&to(range_of(was))));
    UNUSED.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok().map(range_of)
}

/// [`take`] where the kernel places it.
pub fn take_elsewhere(len: usize) -> Result<usize> {
    let start = memory::reserve(len)?;
    ELSEWHERE.add(&(start..start + len));
    Ok(start)
}

/// Map `len` bytes of `file` shared and writable. Through the mapping, threads without the file's
/// descriptor can punch holes.
pub fn map_file(file: &OwnedFd, len: usize) -> Result<usize> {
    let after = unused().end;
    let free = FREE.remove(|range| range.len() == len && range.start >= after).map(|range| range.start);
    let at = free.or_else(|| shrink_unused(len, |unused| unused.start..unused.end - len).map(|was| was.end - len));
    // SAFETY: `at` is address space of this range that nothing uses.
    unsafe { memory::map_shared_file(file, at, len) }
}

/// Give back what [`take`] or [`map_file`] returned.
///
/// # Safety
/// Nothing uses the range any more.
pub unsafe fn give_back(range: Bytes) -> Result<()> {
    if !is_reserved(&range) {
        ELSEWHERE.remove(|placed| *placed == range);
        // SAFETY: guaranteed by the caller.
        return unsafe { memory::unmap(range) };
    }
    // SAFETY: as above.
    unsafe { memory::map_fresh(range.clone(), 0) }?;
    FREE.add(&range);
    Ok(())
}

/// The ranges of the pager's private memory, for the account.
pub fn private() -> impl Iterator<Item = Bytes> {
    let taken = START.load(Ordering::Acquire)..unused().start;
    std::iter::once(taken).filter(|range| !range.is_empty()).chain(ELSEWHERE.all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_kept_until_they_are_removed() {
        let ranges = Ranges::<2>(std::array::from_fn(|_| AtomicU64::new(0)));
        let [low, high, third] = [PAGE..3 * PAGE, (1 << 47) - 2 * PAGE..(1 << 47) - PAGE, 8 * PAGE..9 * PAGE];
        [&low, &high, &third].into_iter().for_each(|range| ranges.add(range));
        assert_eq!(ranges.all().collect::<Vec<_>>(), [low.clone(), high.clone()], "two fit");
        assert_eq!(ranges.remove(|range| range.len() == PAGE), Some(high));
        assert_eq!(ranges.remove(|range| range.len() == PAGE), None);
        assert_eq!(ranges.all().collect::<Vec<_>>(), [low]);
    }

    /// Other tests of a process reserve a smaller range, and use it meanwhile.
    #[test]
    fn memory_of_a_process_of_its_own_is_used_again() {
        let test = "kernel::own::tests::memory_is_taken_from_the_range_and_used_again";
        let run = std::process::Command::new(std::env::current_exe().unwrap()).args(["--exact", test, "--ignored"]).output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    #[ignore = "run by the test above"]
    fn memory_is_taken_from_the_range_and_used_again() {
        reserve(1 << 30).unwrap();
        let (size, area) = (77 * PAGE, START.load(Ordering::Acquire)..END.load(Ordering::Acquire));
        let first = take(size).unwrap();
        assert!(area.contains(&first) && private().any(|range| range.contains(&first) && range.contains(&(first + size - 1))));
        // SAFETY: taken above, and nothing else uses it.
        unsafe {
            memory::protect(first..first + size, memory::READ_WRITE).unwrap();
            std::ptr::write_volatile(first as *mut u8, 1);
            give_back(first..first + size).unwrap();
        }
        assert_eq!(take(size), Ok(first), "the same range again");
        // SAFETY: taken above.
        let fresh =
            unsafe { memory::protect(first..first + size, memory::READ_WRITE).map(|()| std::ptr::read_volatile(first as *const u8)) };
        assert_eq!(fresh, Ok(0));
        let file = rustix::fs::memfd_create(c"own", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, size as u64).unwrap();
        let mapped = map_file(&file, size).unwrap();
        assert!(area.contains(&mapped) && private().all(|range| !range.contains(&mapped)), "files lie at the range's end");
        // SAFETY: both were taken above, and nothing uses them any more.
        unsafe { give_back(mapped..mapped + size).and_then(|()| give_back(first..first + size)) }.unwrap();
        assert_eq!(map_file(&file, size), Ok(mapped));
        let placed = take(area.len() + PAGE).unwrap();
        assert!(!area.contains(&placed) && private().any(|range| range == (placed..placed + area.len() + PAGE)));
        // SAFETY: as above.
        unsafe { give_back(placed..placed + area.len() + PAGE) }.unwrap();
        assert!(private().all(|range| range.start != placed));
    }
}
