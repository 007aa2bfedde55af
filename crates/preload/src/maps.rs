//! `mmap` and related functions. Private anonymous memory is managed at any address. For all other
//! memory, the same system call is made as by the C library. Thread stacks are not seen here, as
//! glibc maps them by internal calls.

use crate::content::{copy_content, make_readable, move_to_foreign};
use crate::raw::two_words;
use crate::state::{is_pager, pager, run_if_outgrown};
use libc::{c_int, c_uint, c_void, off_t, size_t, ssize_t};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use std::ops::Range;
use swaplab_pager::kernel::memory::READ_WRITE;
use swaplab_pager::kernel::PAGE;
use swaplab_pager::{Attributes, PageRange};

/// A mapping without an address and up to this size is placed in the pager's reserved range, with
/// the alignment that allocators need. The kernel places larger mappings and those with an address.
const LARGEST_PIECE: usize = 1 << 30;
/// Flags of mappings that are not managed.
const UNMANAGED: c_int = libc::MAP_SHARED | libc::MAP_GROWSDOWN | libc::MAP_HUGETLB | libc::MAP_LOCKED | libc::MAP_STACK;
/// Flags about the address that the reserved range cannot satisfy.
const PLACED: c_int = libc::MAP_32BIT | libc::MAP_FIXED_NOREPLACE;

/// Set `errno` and return `MAP_FAILED`, which is -1 as a pointer.
fn fail(errno: Errno) -> *mut c_void {
    crate::raw::failed(errno.raw_os_error()) as *mut c_void
}

fn errno() -> Errno {
    // SAFETY: errno is this thread's.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

/// Convert a result to that of a C function: 0, or -1 with `errno` set.
pub fn c_result(result: rustix::io::Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(errno) => crate::raw::failed(errno.raw_os_error()) as c_int,
    }
}

/// Start the pager thread if the program has outgrown its allowance; returns `address`.
fn after_growth(pager: &swaplab_pager::Pager, address: *mut c_void) -> *mut c_void {
    run_if_outgrown(pager);
    address
}

/// The pager and the range as pages; `None` if the process has no pager or the range is invalid.
pub fn pages(address: *const c_void, len: usize) -> Option<(&'static swaplab_pager::Pager, PageRange)> {
    let start = address as usize;
    let pager = pager()?;
    Some((pager, pager.pages(&(start..start.checked_add(len)?))?))
}

/// [`pages`], but `None` also if no part of the range is managed.
pub fn managed(address: *const c_void, len: usize) -> Option<(&'static swaplab_pager::Pager, PageRange)> {
    crate::selector::resume();
    pages(address, len).filter(|(pager, range)| !pager.lock_managed().is_foreign(range))
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn mmap(address: *mut c_void, len: size_t, prot: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void {
    crate::selector::resume();
    let kernel = |flags: c_int| kernel!(SYS_mmap, address, len, prot, flags, fd, offset) as *mut c_void;
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) == libc::MAP_FIXED;
    let anonymous = || flags & libc::MAP_ANONYMOUS != 0 || is_zero_device(fd);
    let plain = flags & UNMANAGED == 0 && !is_pager() && anonymous();
    let Some(pager) = pager().filter(|_| plain || fixed) else { return kernel(flags) };
    let len_in_pages = len.checked_next_multiple_of(PAGE).unwrap_or(0);
    if !plain {
        let mut managed = pager.lock_managed();
        let mapped = kernel(flags);
        if let (true, Some((_, range))) = (mapped != libc::MAP_FAILED, pages(mapped, len)) {
            managed.make_foreign(range);
        }
        return mapped;
    }
    if !fixed && crate::limits::forbids(pager, len_in_pages) {
        return fail(Errno::NOMEM);
    }
    let mut managed = pager.lock_managed();
    if managed.refuses() && prot != libc::PROT_NONE {
        return fail(Errno::NOMEM);
    }
    let anywhere = address.is_null() && flags & (PLACED | libc::MAP_FIXED) == 0 && prot & libc::PROT_EXEC == 0;
    let mut mapped = libc::MAP_FAILED;
    if anywhere && (1..=LARGEST_PIECE).contains(&len_in_pages) {
        mapped = managed.take(len_in_pages, prot as u32).map_or(libc::MAP_FAILED, |start| start as *mut c_void);
    }
    let known = flags & libc::MAP_PRIVATE != 0 && address as usize % PAGE == 0 && prot as u32 & !READ_WRITE == 0;
    if let (true, Some((_, range))) = (fixed && known, pages(address, len_in_pages)) {
        match managed.map_over(range, prot as u32) {
            Ok(true) => mapped = address,
            Ok(false) => (),
            Err(errno) => return fail(errno),
        }
    }
    if mapped == libc::MAP_FAILED {
        // Populating the mapping would only evict other pages.
        mapped = kernel(flags & !libc::MAP_POPULATE);
        if let (true, Some((_, range))) = (mapped != libc::MAP_FAILED, pages(mapped, len_in_pages)) {
            managed.adopt(range, prot as u32);
        }
    }
    drop(managed);
    if mapped != libc::MAP_FAILED {
        after_growth(pager, mapped);
    }
    mapped
}

/// Whether a file is `/dev/zero`, whose private mappings are anonymous memory.
fn is_zero_device(fd: c_int) -> bool {
    // SAFETY: the descriptor is used for this call alone, and is not closed.
    let stat = || rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(fd) });
    fd >= 0 && stat().is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == libc::makedev(1, 5))
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn mmap64(address: *mut c_void, len: size_t, prot: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void {
    // SAFETY: the same call.
    unsafe { mmap(address, len, prot, flags, fd, offset) }
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn munmap(address: *mut c_void, len: size_t) -> c_int {
    match managed(address, len) {
        Some((pager, range)) if address as usize % PAGE == 0 => c_result(pager.lock_managed().give_back(range)),
        _ => kernel!(SYS_munmap, address, len) as c_int,
    }
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn mprotect(address: *mut c_void, len: size_t, prot: c_int) -> c_int {
    protect(address, len, prot, |start, len| kernel!(SYS_mprotect, start, len, prot), None)
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn pkey_mprotect(address: *mut c_void, len: size_t, prot: c_int, key: c_int) -> c_int {
    // The pager thread has none of the program's keys, so memory with a key stays in DRAM.
    protect(address, len, prot, |start, len| kernel!(SYS_pkey_mprotect, start, len, prot, key), (key >= 0).then_some(key > 0))
}

/// Perform `mprotect` or `pkey_mprotect`, whose system call is `call`. `key`: whether the memory
/// has a protection key afterwards.
fn protect(address: *mut c_void, len: usize, prot: c_int, call: impl Fn(usize, usize) -> isize, key: Option<bool>) -> c_int {
    let aligned = address as usize % PAGE == 0;
    let Some((pager, range)) = managed(address, len).filter(|_| aligned) else { return call(address as usize, len) as c_int };
    let piece = |bytes: Range<usize>| match call(bytes.start, bytes.len()) {
        -1 => Err(errno()),
        _ => Ok(()),
    };
    let mut done = pager.lock_managed().protect(range.clone(), prot as u32, key, piece);
    if done == Err(Errno::ACCESS) && prot & libc::PROT_EXEC != 0 {
        // The kernel does not permit executing the NVM file (noexec): move the content to anonymous
        // memory.
        done = move_to_foreign(pager, range.clone()).and_then(|()| pager.lock_managed().protect(range, prot as u32, key, piece));
    }
    if done.is_ok() {
        after_growth(pager, address);
    }
    c_result(done)
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn madvise(address: *mut c_void, len: size_t, advice: c_int) -> c_int {
    let Some((pager, range)) = managed(address, len) else {
        return kernel!(SYS_madvise, address, len, advice) as c_int;
    };
    const DONTNEED_LOCKED: c_int = 24;
    const GUARD_INSTALL: c_int = 102;
    match advice {
        _ if address as usize % PAGE != 0 => c_result(Err(Errno::INVAL)),
        // MADV_FREE may free the pages at once. If the kernel freed them later, the pager would not
        // notice.
        libc::MADV_DONTNEED | libc::MADV_FREE | DONTNEED_LOCKED => c_result(pager.lock_managed().discard(range)),
        // Hints to the kernel about memory that the pager manages.
        libc::MADV_NORMAL | libc::MADV_RANDOM | libc::MADV_SEQUENTIAL | libc::MADV_WILLNEED => 0,
        libc::MADV_HUGEPAGE | libc::MADV_NOHUGEPAGE | libc::MADV_COLD | libc::MADV_PAGEOUT => 0,
        // An eviction would replace the mapping and lose the kernel's guard markers, so this memory
        // is no longer managed.
        GUARD_INSTALL => {
            let mut managed = pager.lock_managed();
            for (piece, prot) in managed.managed_pieces(range) {
                let renewed = managed.renew(piece.clone(), prot);
                if renewed.is_err() {
                    return c_result(renewed);
                }
                managed.make_foreign(piece);
            }
            kernel!(SYS_madvise, address, len, advice) as c_int
        }
        libc::MADV_MERGEABLE | libc::MADV_UNMERGEABLE => 0,
        libc::MADV_DONTFORK | libc::MADV_DOFORK => c_result(pager.lock_managed().unshare(range, advice == libc::MADV_DONTFORK)),
        libc::MADV_WIPEONFORK => {
            if !pager.lock_managed().disown(range.clone()) {
                if let Err(errno) = move_to_foreign(pager, range) {
                    return c_result(Err(errno));
                }
            }
            kernel!(SYS_madvise, address, len, advice) as c_int
        }
        _ => kernel!(SYS_madvise, address, len, advice) as c_int,
    }
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn process_madvise(pidfd: c_int, ranges: *const libc::iovec, count: size_t, advice: c_int, flags: c_uint) -> ssize_t {
    let own = flags == 0 && pager().is_some() && !is_pager() && is_this_process(pidfd);
    if !own || count > libc::UIO_MAXIOV as usize {
        return kernel!(SYS_process_madvise, pidfd, ranges, count, advice, flags);
    }
    let mut advised = 0;
    for number in 0..count {
        let Some([start, len]) = two_words(ranges as usize + number * size_of::<libc::iovec>()) else {
            return crate::raw::failed(libc::EFAULT);
        };
        // SAFETY: the program advises this range.
        if unsafe { madvise(start as *mut c_void, len, advice) } != 0 {
            return if advised > 0 { advised } else { -1 };
        }
        advised += len as ssize_t;
    }
    advised
}

/// Whether a pidfd, or one of the constants for this thread and its process, is of this process.
fn is_this_process(pidfd: c_int) -> bool {
    const THREAD: c_int = -10_000;
    const PROCESS: c_int = -20_000;
    let pid = || {
        let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{pidfd}")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse::<u32>().ok())
    };
    [THREAD, PROCESS].contains(&pidfd) || (pidfd >= 0 && pid() == Some(std::process::id()))
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn mremap(old: *mut c_void, old_len: size_t, new_len: size_t, flags: c_int, new: *mut c_void) -> *mut c_void {
    crate::selector::resume();
    let Some((pager, range)) = pages(old, old_len.max(1)) else {
        return kernel!(SYS_mremap, old, old_len, new_len, flags, new) as *mut c_void;
    };
    if pager.lock_managed().is_foreign(&range) {
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
            let done = if wanted < pages { pager.lock_managed().give_back(range.start + wanted..range.end) } else { Ok(()) };
            return done.map_or_else(fail, |()| old);
        }
        if pager.lock_managed().extend(&range, wanted) {
            return after_growth(pager, old);
        }
        if flags & libc::MREMAP_MAYMOVE == 0 {
            return fail(Errno::NOMEM);
        }
    }
    let Some(Attributes { prot, locked, unshared, .. }) = pager.lock_managed().attributes(&range) else { return fail(Errno::FAULT) };
    let (placed, new) = if fixed { (libc::MAP_FIXED, new) } else { (0, std::ptr::null_mut()) };
    // SAFETY: the interposed mmap; with MREMAP_FIXED the call replaces the target's old content.
    let target = unsafe { mmap(new, wanted * PAGE, READ_WRITE as c_int, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | placed, -1, 0) };
    if target == libc::MAP_FAILED {
        return target;
    }
    let from = old as usize..old as usize + pages.min(wanted) * PAGE;
    let changed = make_readable(prot, from.clone());
    copy_content(from.clone(), target as usize, |piece| {
        let pages = pager.pages(&piece);
        let _ = pages.map(|pages| pager.lock_managed().discard(pages));
    });
    if changed && keep {
        kernel!(SYS_mprotect, from.start, from.len(), prot);
    }
    let gone = if keep { pager.lock_managed().discard(range) } else { pager.lock_managed().give_back(range) };
    // The kernel moves the mapping with its properties.
    // SAFETY: the interposed functions, on the mapping made above.
    unsafe {
        (prot != READ_WRITE).then(|| mprotect(target, wanted * PAGE, prot as c_int));
        unshared.then(|| madvise(target, wanted * PAGE, libc::MADV_DONTFORK));
    }
    if locked {
        let start = target as usize;
        pager.pages(&(start..start + wanted * PAGE)).map(|moved| pager.lock_managed().lock(moved, true));
        kernel!(SYS_mlock, target, wanted * PAGE);
    }
    gone.map_or_else(fail, |()| target)
}

/// Let the kernel move foreign memory. If its old addresses are in the reserved range, reserve them
/// again.
fn move_foreign(pager: &swaplab_pager::Pager, range: PageRange, [old, old_len, new_len, flags, new]: [usize; 5]) -> *mut c_void {
    let mut managed = pager.lock_managed();
    let moved = kernel!(SYS_mremap, old, old_len, new_len, flags, new) as *mut c_void;
    if moved == libc::MAP_FAILED {
        return moved;
    }
    if flags as c_int & libc::MREMAP_FIXED != 0 {
        if let Some((_, target)) = pages(moved, new_len) {
            managed.make_foreign(target);
        }
    }
    if moved as usize != old && flags as c_int & libc::MREMAP_DONTUNMAP == 0 {
        managed.reserve_again(range);
    }
    moved
}
