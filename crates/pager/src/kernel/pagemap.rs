//! `PAGEMAP_SCAN` (Linux 6.7): where the pages of a process are.

use super::memory::Bytes;
use super::{Missing, PAGE};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Result;
use rustix::ioctl::{opcode, Opcode, Updater};
use std::ops::Range;

/// Categories of a page: `PAGE_IS_*` of include/uapi/linux/fs.h. `PRESENT`: mapped to memory now.
const PRESENT: u64 = 8;
const SWAPPED: u64 = 16;
/// A page of a file: for managed memory, an NVM page mapped in place.
const FILE: u64 = 4;
const ZERO: u64 = 32;

#[repr(C)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const SCAN: Opcode = opcode::read_write::<ScanArgument>(b'f', 16);

/// A run of pages of the same categories.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Run {
    start: u64,
    end: u64,
    categories: u64,
}

/// The place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// A private DRAM page.
    Dram,
    /// A page of the file, mapped in place.
    File,
    /// The kernel's shared page of zeros.
    Zero,
    /// In the page table but not present: in kernel swap, or a marker of write-protection.
    Swapped,
}

impl Run {
    pub fn bytes(&self) -> Bytes {
        self.start as usize..self.end as usize
    }

    pub fn pages(&self) -> Range<usize> {
        self.start as usize / PAGE..self.end as usize / PAGE
    }

    pub fn place(&self) -> Where {
        match self.categories {
            c if c & PRESENT == 0 => Where::Swapped,
            c if c & ZERO != 0 => Where::Zero,
            c if c & FILE != 0 => Where::File,
            _ => Where::Dram,
        }
    }
}

/// The page map of a process, with a buffer for the results of a scan, so that scanning does not
/// allocate.
pub struct PageMap {
    file: OwnedFd,
    runs: Vec<Run>,
}

impl PageMap {
    pub fn open() -> std::result::Result<PageMap, Missing> {
        Self::open_path("/proc/self/pagemap")
    }

    /// Open the page map at `path`, a `/proc/PID/pagemap`, and check that it can be scanned.
    pub fn open_path(path: &str) -> std::result::Result<PageMap, Missing> {
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| Missing::new("/proc/PID/pagemap", format!("{path}: {e}; mount /proc, and look at processes of your own")))?;
        let mut map = PageMap { file, runs: vec![Run::default(); 2048] };
        map.scan(0..0, |_| ()).map_err(|e| Missing::new("PAGEMAP_SCAN", format!("{e}; needs Linux 6.7 or newer")))?;
        Ok(map)
    }

    /// Call `show` for every run of pages in `range` that has page-table entries, in order of
    /// addresses.
    pub fn scan(&mut self, range: Bytes, show: impl FnMut(Run)) -> Result<()> {
        self.scan_for(range, (0, 0, PRESENT | SWAPPED), FILE | ZERO, show)
    }

    /// [`scan`](PageMap::scan) for memory that is mapped from no file, for which the kernel then
    /// does not have to look at each page's `struct page`.
    pub fn scan_plain(&mut self, range: Bytes, show: impl FnMut(Run)) -> Result<()> {
        self.scan_for(range, (0, 0, PRESENT | SWAPPED), ZERO, show)
    }

    /// Call `show` for the runs of private DRAM pages only. Pages that are read in place take no
    /// time here.
    pub fn scan_dram(&mut self, range: Bytes, show: impl FnMut(Run)) -> Result<()> {
        self.scan_for(range, (FILE | ZERO, PRESENT | FILE | ZERO, 0), FILE | ZERO, show)
    }

    /// Call `show` for the pages whose categories, with those in `inverted` negated, include all of
    /// `all_of` and, unless it is 0, one of `any_of`. `shown`: the categories that a run has beside
    /// `PRESENT` and `SWAPPED`.
    fn scan_for(&mut self, range: Bytes, (inverted, all_of, any_of): (u64, u64, u64), shown: u64, mut show: impl FnMut(Run)) -> Result<()> {
        let mut start = range.start as u64;
        loop {
            let mut argument = ScanArgument {
                size: size_of::<ScanArgument>() as u64,
                flags: 0,
                start,
                end: range.end as u64,
                walk_end: 0,
                vec: self.runs.as_mut_ptr() as u64,
                vec_len: self.runs.len() as u64,
                max_pages: 0,
                category_inverted: inverted,
                category_mask: all_of,
                category_anyof_mask: any_of,
                return_mask: PRESENT | SWAPPED | shown,
            };
            // SAFETY: the argument is the kernel's struct pm_scan_arg; `runs` holds `vec_len`
            // entries of struct page_region.
            let found = unsafe { rustix::ioctl::ioctl(&self.file, Counted::<SCAN, _>(Updater::new(&mut argument))) }?;
            self.runs[..found].iter().for_each(|run| show(*run));
            // If the buffer is not full, the walk is complete. `walk_end` must not be used then: if
            // the kernel had to flush its own buffer (Linux 6.18, more than 512 runs), it is an
            // earlier address, and later runs would be reported twice.
            if found < self.runs.len() {
                return Ok(());
            }
            start = argument.walk_end.max(self.runs[found - 1].end);
        }
    }
}

/// An [`Updater`] whose output is the ioctl's return value, the number of runs.
struct Counted<'a, const CODE: Opcode, T>(Updater<'a, CODE, T>);

// SAFETY: as for the inner `Updater`, except that the output is the (non-negative) return value.
unsafe impl<const CODE: Opcode, T> rustix::ioctl::Ioctl for Counted<'_, CODE, T> {
    type Output = usize;
    const IS_MUTATING: bool = true;
    fn opcode(&self) -> Opcode {
        CODE
    }
    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        self.0.as_ptr()
    }
    unsafe fn output_from_ptr(value: rustix::ioctl::IoctlOutput, _: *mut std::ffi::c_void) -> Result<usize> {
        Ok(value as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::memory;

    #[test]
    fn the_place_of_a_run_follows_from_its_categories() {
        let run = |categories| Run { start: 2 * PAGE as u64, end: 5 * PAGE as u64, categories };
        assert_eq!((run(PRESENT).pages(), run(PRESENT).bytes()), (2..5, 2 * PAGE..5 * PAGE));
        let categories = [PRESENT, PRESENT | FILE, PRESENT | ZERO, PRESENT | FILE | ZERO, SWAPPED, SWAPPED | FILE, 0];
        let places = [Where::Dram, Where::File, Where::Zero, Where::Zero, Where::Swapped, Where::Swapped, Where::Swapped];
        assert_eq!(categories.map(|bits| run(bits).place()), places);
    }

    /// Every second of 6,000 pages was written, more runs than one call of the kernel returns.
    #[test]
    fn a_scan_shows_each_written_page_once() {
        let mut map = match PageMap::open() {
            Ok(map) => map,
            Err(missing) => return eprintln!("skipped: {missing}"),
        };
        let (pages, start) = (6_000, memory::reserve(6_000 * PAGE).unwrap());
        let range = start..start + pages * PAGE;
        // SAFETY: reserved above, and used here alone.
        unsafe { memory::protect(range.clone(), memory::READ_WRITE) }.unwrap();
        memory::no_huge_pages(range.clone());
        for page in (0..pages).step_by(2) {
            // SAFETY: inside the range, which is writable.
            unsafe { std::ptr::write_volatile((start + page * PAGE) as *mut u8, 1) };
        }
        let written: Vec<usize> = (0..pages).step_by(2).map(|page| start / PAGE + page).collect();
        assert!(written.len() > map.runs.len());
        let mut seen = Vec::new();
        map.scan_dram(range.clone(), |run| seen.extend(run.pages())).unwrap();
        assert!(seen == written, "{} pages in DRAM, not {}", seen.len(), written.len());
        // A read of an untouched page maps the page of zeros, which takes no memory of its own.
        // SAFETY: as above.
        unsafe { std::ptr::read_volatile((start + PAGE) as *const u8) };
        let (mut dram, mut zero) = (0, Vec::new());
        map.scan(range.clone(), |run| match run.place() {
            Where::Dram => dram += run.pages().len(),
            Where::Zero => zero.extend(run.pages()),
            other => panic!("{other:?}"),
        })
        .unwrap();
        assert_eq!((dram, zero), (written.len(), vec![start / PAGE + 1]));
        // SAFETY: nobody uses it any more.
        unsafe { memory::unmap(range) }.unwrap();
    }
}
