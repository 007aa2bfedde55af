//! mmap and its family. Private anonymous memory is managed wherever it lies; everything else is the kernel's, by the same
//! system call that libc would make. Thread stacks never come here (glibc maps them by calls of its own).

use crate::state::{is_pager, pager, run, THREAD};
use libc::{c_int, c_void, off_t, size_t};
use rustix::io::Errno;
use std::ops::Range;
use swaplab_pager::kernel::memory::READ_WRITE;
use swaplab_pager::kernel::PAGE;
use swaplab_pager::PageRange;

/// Without an address of its own, a mapping up to this size comes from the range that the pager has reserved, aligned as allocators
/// want it. Larger ones, and those with an address, stay where the kernel puts them.
const LARGEST_PIECE: usize = 1 << 30;
/// Kinds of mapping that are not managed.
const UNMANAGED: c_int = libc::MAP_SHARED | libc::MAP_GROWSDOWN | libc::MAP_HUGETLB | libc::MAP_LOCKED | libc::MAP_STACK;
/// Wishes for an address that the pager's own range cannot fulfil.
const PLACED: c_int = libc::MAP_32BIT | libc::MAP_FIXED_NOREPLACE;

/// A mapping that failed for `errno`: C's MAP_FAILED is -1 as a pointer.
fn fail(errno: Errno) -> *mut c_void {
    crate::raw::failed(errno.raw_os_error()) as *mut c_void
}

fn errno() -> Errno {
    // SAFETY: errno is this thread's.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

fn answer(result: rustix::io::Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(errno) => crate::raw::failed(errno.raw_os_error()) as c_int,
    }
}

/// The program has more memory now, at `address`; it may need a pager from here on.
fn given(pager: &swaplab_pager::Pager, address: *mut c_void) -> *mut c_void {
    if pager.outgrown() {
        run(pager);
    }
    address
}

/// Memory as pages, where a pager looks after the process.
pub fn pages(address: *const c_void, len: usize) -> Option<(&'static swaplab_pager::Pager, PageRange)> {
    crate::selector::resume();
    let start = address as usize;
    let pager = pager()?;
    Some((pager, pager.pages(&(start..start.checked_add(len)?))?))
}

/// The same, if some of it is not the kernel's alone.
fn managed(address: *const c_void, len: usize) -> Option<(&'static swaplab_pager::Pager, PageRange)> {
    pages(address, len).filter(|(pager, range)| !pager.world().is_foreign(range))
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn mmap(address: *mut c_void, len: size_t, prot: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void {
    let kernel = |flags: c_int| kernel!(SYS_mmap, address, len, prot, flags, fd, offset) as *mut c_void;
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) == libc::MAP_FIXED;
    let plain = flags & libc::MAP_ANONYMOUS != 0 && flags & UNMANAGED == 0 && !is_pager(&THREAD);
    let Some(pager) = pager().filter(|_| plain || fixed) else { return kernel(flags) };
    let len_in_pages = len.checked_next_multiple_of(PAGE).unwrap_or(0);
    if !plain {
        let mut world = pager.world();
        let mapped = kernel(flags);
        if let (true, Some((_, range))) = (mapped != libc::MAP_FAILED, pages(mapped, len)) {
            world.make_foreign(range);
        }
        return mapped;
    }
    if !fixed && crate::limits::forbids(pager, len_in_pages) {
        return fail(Errno::NOMEM);
    }
    let mut world = pager.world();
    if world.refuses() && prot != libc::PROT_NONE {
        return fail(Errno::NOMEM);
    }
    let anywhere = address.is_null() && flags & (PLACED | libc::MAP_FIXED) == 0 && prot & libc::PROT_EXEC == 0;
    let mut mapped = libc::MAP_FAILED;
    if anywhere && (1..=LARGEST_PIECE).contains(&len_in_pages) {
        mapped = world.take(len_in_pages, prot as u32).map_or(libc::MAP_FAILED, |start| start as *mut c_void);
    }
    if mapped == libc::MAP_FAILED {
        // To fill memory before it is used would only push other pages out.
        mapped = kernel(flags & !libc::MAP_POPULATE);
        if let (true, Some((_, range))) = (mapped != libc::MAP_FAILED, pages(mapped, len_in_pages)) {
            world.adopt(range, prot as u32);
        }
    }
    drop(world);
    if mapped != libc::MAP_FAILED {
        given(pager, mapped);
    }
    mapped
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn mmap64(address: *mut c_void, len: size_t, prot: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void {
    // SAFETY: the same call.
    unsafe { mmap(address, len, prot, flags, fd, offset) }
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn munmap(address: *mut c_void, len: size_t) -> c_int {
    match managed(address, len) {
        Some((pager, range)) if address as usize % PAGE == 0 => answer(pager.world().give_back(range)),
        _ => kernel!(SYS_munmap, address, len) as c_int,
    }
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn mprotect(address: *mut c_void, len: size_t, prot: c_int) -> c_int {
    protect(address, len, prot, |start, len| kernel!(SYS_mprotect, start, len, prot), None)
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn pkey_mprotect(address: *mut c_void, len: size_t, prot: c_int, key: c_int) -> c_int {
    // The pager thread has none of the program's keys: what has one stays in DRAM.
    protect(address, len, prot, |start, len| kernel!(SYS_pkey_mprotect, start, len, prot, key), (key >= 0).then_some(key > 0))
}

fn protect(address: *mut c_void, len: usize, prot: c_int, call: impl Fn(usize, usize) -> isize, key: Option<bool>) -> c_int {
    let whole = address as usize % PAGE == 0;
    let Some((pager, range)) = managed(address, len).filter(|_| whole) else { return call(address as usize, len) as c_int };
    let piece = |bytes: Range<usize>| match call(bytes.start, bytes.len()) {
        -1 => Err(errno()),
        _ => Ok(()),
    };
    let mut done = pager.world().protect(range.clone(), prot as u32, key, piece);
    if done == Err(Errno::ACCESS) && prot & libc::PROT_EXEC != 0 {
        // The store's file may not be executed: its content goes to memory that may.
        done = take_out(pager, range.clone(), address).and_then(|()| pager.world().protect(range, prot as u32, key, piece));
    }
    if done.is_ok() {
        given(pager, address);
    }
    answer(done)
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn madvise(address: *mut c_void, len: size_t, advice: c_int) -> c_int {
    let Some((pager, range)) = managed(address, len) else {
        return kernel!(SYS_madvise, address, len, advice) as c_int;
    };
    const DONTNEED_LOCKED: c_int = 24;
    const GUARD_INSTALL: c_int = 102;
    match advice {
        _ if address as usize % PAGE != 0 => answer(Err(Errno::INVAL)),
        // Free may be done at once; the kernel's laziness would hide the pages from the pager.
        libc::MADV_DONTNEED | libc::MADV_FREE | DONTNEED_LOCKED => answer(pager.world().discard(range)),
        // Hints about memory that the pager, not the kernel, looks after.
        libc::MADV_NORMAL | libc::MADV_RANDOM | libc::MADV_SEQUENTIAL | libc::MADV_WILLNEED => 0,
        libc::MADV_HUGEPAGE | libc::MADV_NOHUGEPAGE | libc::MADV_COLD | libc::MADV_PAGEOUT => 0,
        // The kernel's marks for pages that must not be touched go with the mapping, which an eviction replaces: they are the kernel's.
        GUARD_INSTALL => {
            let Some(prot) = pager.world().protection(&range) else { return answer(Err(Errno::INVAL)) };
            let mut world = pager.world();
            let renewed = world.renew(range.clone(), prot);
            if renewed.is_err() {
                return answer(renewed);
            }
            world.make_foreign(range);
            kernel!(SYS_madvise, address, len, advice) as c_int
        }
        libc::MADV_MERGEABLE | libc::MADV_UNMERGEABLE => 0,
        libc::MADV_DONTFORK | libc::MADV_DOFORK => answer(pager.world().unshare(range, advice == libc::MADV_DONTFORK)),
        libc::MADV_WIPEONFORK => {
            if !pager.world().disown(range.clone()) {
                if let Err(errno) = take_out(pager, range, address) {
                    return answer(Err(errno));
                }
            }
            kernel!(SYS_madvise, address, len, advice) as c_int
        }
        _ => kernel!(SYS_madvise, address, len, advice) as c_int,
    }
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn mremap(old: *mut c_void, old_len: size_t, new_len: size_t, flags: c_int, new: *mut c_void) -> *mut c_void {
    let Some((pager, range)) = pages(old, old_len.max(1)) else {
        return kernel!(SYS_mremap, old, old_len, new_len, flags, new) as *mut c_void;
    };
    if pager.world().is_foreign(&range) {
        return move_foreign(pager, range, [old as usize, old_len, new_len, flags as usize, new as usize]);
    }
    if old as usize % PAGE != 0 || old_len == 0 || new_len == 0 {
        return fail(Errno::INVAL);
    }
    let (pages, wanted) = (range.len(), new_len.div_ceil(PAGE));
    let fixed = flags & libc::MREMAP_FIXED != 0;
    let keep = flags & libc::MREMAP_DONTUNMAP != 0;
    if !fixed && !keep {
        if wanted <= pages {
            let done = if wanted < pages { pager.world().give_back(range.start + wanted..range.end) } else { Ok(()) };
            return done.map_or_else(fail, |()| old);
        }
        if pager.world().extend(&range, wanted) {
            return given(pager, old);
        }
        if flags & libc::MREMAP_MAYMOVE == 0 {
            return fail(Errno::NOMEM);
        }
    }
    let Some(prot) = pager.world().protection(&range) else { return fail(Errno::FAULT) };
    let (placed, new) = if fixed { (libc::MAP_FIXED, new) } else { (0, std::ptr::null_mut()) };
    // SAFETY: our own mmap; with MREMAP_FIXED the program wants the old content of the target gone.
    let target = unsafe { mmap(new, wanted * PAGE, READ_WRITE as c_int, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | placed, -1, 0) };
    if target == libc::MAP_FAILED {
        return target;
    }
    let from = old as usize..old as usize + pages.min(wanted) * PAGE;
    let seen = readable(prot, from.clone());
    carry(from.clone(), target as usize, |piece| {
        let pages = pager.pages(&piece);
        let _ = pages.map(|pages| pager.world().discard(pages));
    });
    if seen && keep {
        kernel!(SYS_mprotect, from.start, from.len(), prot);
    }
    let left = if keep { pager.world().discard(range) } else { pager.world().give_back(range) };
    if prot != READ_WRITE {
        // SAFETY: our own mprotect, of what was mapped above.
        unsafe { mprotect(target, wanted * PAGE, prot as c_int) };
    }
    left.map_or_else(fail, |()| target)
}

/// What is the kernel's is the kernel's to move. A place that it leaves in the pager's own range is the pager's again.
fn move_foreign(pager: &swaplab_pager::Pager, range: PageRange, [old, old_len, new_len, flags, new]: [usize; 5]) -> *mut c_void {
    let mut world = pager.world();
    let moved = kernel!(SYS_mremap, old, old_len, new_len, flags, new) as *mut c_void;
    if moved == libc::MAP_FAILED {
        return moved;
    }
    if flags as c_int & libc::MREMAP_FIXED != 0 {
        if let Some((_, target)) = pages(moved, new_len) {
            world.make_foreign(target);
        }
    }
    if moved as usize != old && flags as c_int & libc::MREMAP_DONTUNMAP == 0 {
        world.reserve_again(range);
    }
    moved
}

/// Memory of which the kernel shall treat a fork in a way that the store's file cannot: its content moves to memory of the kernel's.
fn take_out(pager: &swaplab_pager::Pager, range: PageRange, address: *mut c_void) -> rustix::io::Result<()> {
    let prot = pager.world().protection(&range).ok_or(Errno::INVAL)?;
    let bytes = address as usize..address as usize + range.len() * PAGE;
    let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let other = kernel!(SYS_mmap, 0, bytes.len(), READ_WRITE, anonymous, -1isize, 0);
    if other == -1 {
        return Err(Errno::NOMEM);
    }
    readable(prot, bytes.clone());
    carry(bytes.clone(), other as usize, |_| ());
    let mut world = pager.world();
    kernel!(SYS_mremap, other, bytes.len(), bytes.len(), libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, bytes.start);
    world.make_foreign(range);
    if prot != READ_WRITE {
        kernel!(SYS_mprotect, bytes.start, bytes.len(), prot);
    }
    Ok(())
}

/// Let us read `bytes`, whose protection is `prot`; whether that had to change.
fn readable(prot: u32, bytes: Range<usize>) -> bool {
    let change = prot & libc::PROT_READ as u32 == 0;
    if change {
        kernel!(SYS_mprotect, bytes.start, bytes.len(), libc::PROT_READ);
    }
    change
}

/// Copy content page by page, and say so of each piece: what is zero is not written, and where `done` drops what was moved, no more than a
/// little is in DRAM twice. Without the lock: these are touches like the program's own.
fn carry(from: Range<usize>, to: usize, done: impl Fn(Range<usize>)) {
    const STEP: usize = 256 * PAGE;
    for start in from.clone().step_by(STEP) {
        let piece = start..(start + STEP).min(from.end);
        for page in piece.clone().step_by(PAGE) {
            // SAFETY: both are mapped, and by the program's promise nobody else uses them during the call.
            unsafe {
                let source = std::slice::from_raw_parts(page as *const u64, PAGE / 8);
                if source.iter().any(|word| *word != 0) {
                    std::ptr::copy_nonoverlapping(source.as_ptr(), (to + (page - from.start)) as *mut u64, PAGE / 8);
                }
            }
        }
        done(piece);
    }
}
