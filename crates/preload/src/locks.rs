//! `mlock` and related functions: locked memory stays in DRAM.

use crate::maps::pages;
use crate::state::pager;
use libc::{c_int, c_void, size_t};
use swaplab_pager::kernel::PAGE;
use swaplab_pager::PageRange;

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn mlock(address: *const c_void, len: size_t) -> c_int {
    locked(address, len, || kernel!(SYS_mlock, address, len) as c_int)
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn mlock2(address: *const c_void, len: size_t, flags: libc::c_uint) -> c_int {
    locked(address, len, || kernel!(SYS_mlock2, address, len, flags) as c_int)
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn munlock(address: *const c_void, len: size_t) -> c_int {
    let result = kernel!(SYS_munlock, address, len) as c_int;
    set_locked(address, len, false);
    result
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn mlockall(flags: c_int) -> c_int {
    if let Some(pager) = pager() {
        // The program may lock everything; the pager then evicts nothing.
        let changed = pager.lock_managed().lock_all(true);
        // Lock resident pages, and others when they are accessed. Populating all mappings would
        // also populate the pager's, such as the mirror of the NVM file.
        let result = kernel!(SYS_mlockall, flags | libc::MCL_ONFAULT) as c_int;
        if result != 0 {
            keep_errno(|| pager.lock_managed().unlock_all(changed));
        }
        return result;
    }
    kernel!(SYS_mlockall, flags) as c_int
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn munlockall() -> c_int {
    let result = kernel!(SYS_munlockall,) as c_int;
    if let Some(pager) = pager() {
        pager.lock_managed().lock_all(false);
    }
    result
}

/// Exclude this memory from eviction, until it is unmapped or unlocked. Returns the pieces of it
/// that were not excluded before.
pub fn keep(address: *const c_void, len: usize) -> Vec<PageRange> {
    set_locked(address, len, true)
}

/// Include in evictions again what a failed call has excluded. The error number stays.
pub fn stop_keeping(kept: Vec<PageRange>) {
    if let Some(pager) = pager() {
        keep_errno(|| kept.into_iter().for_each(|piece| drop(pager.lock_managed().lock(piece, false))));
    }
}

/// Call `work` and leave the error number of the failed call that came before it.
fn keep_errno(work: impl FnOnce()) {
    // SAFETY: errno is this thread's.
    unsafe {
        let errno = *libc::__errno_location();
        work();
        *libc::__errno_location() = errno;
    }
}

/// Exclude memory from eviction, then make the kernel's call, which locks it. The pager's lock is
/// not held during the call, which may wait for the pager. If the call fails, what was not locked
/// before is not locked after.
fn locked(address: *const c_void, len: usize, call: impl FnOnce() -> c_int) -> c_int {
    let changed = set_locked(address, len, true);
    let result = call();
    if result != 0 {
        stop_keeping(changed);
    }
    result
}

/// Returns the pieces that were not locked, or unlocked, before.
fn set_locked(address: *const c_void, len: usize, locked: bool) -> Vec<PageRange> {
    crate::selector::resume();
    let start = address as usize / PAGE * PAGE;
    let end = (address as usize + len).next_multiple_of(PAGE);
    pages(start as *const c_void, end - start).map_or_else(Vec::new, |(pager, range)| pager.lock_managed().lock(range, locked))
}
