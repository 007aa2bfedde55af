//! `mlock` and related functions: locked memory stays in DRAM.

use crate::maps::pages;
use crate::state::pager;
use libc::{c_int, c_void, size_t};
use swaplab_pager::kernel::PAGE;

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn mlock(address: *const c_void, len: size_t) -> c_int {
    set_locked(address, len, true);
    kernel!(SYS_mlock, address, len) as c_int
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn mlock2(address: *const c_void, len: size_t, flags: libc::c_uint) -> c_int {
    set_locked(address, len, true);
    kernel!(SYS_mlock2, address, len, flags) as c_int
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
        pager.lock_world().lock_all(true);
        // Lock resident pages, and others when they are accessed. Populating all mappings would
        // also populate the pager's, such as the mirror of the NVM file.
        return kernel!(SYS_mlockall, flags | libc::MCL_ONFAULT) as c_int;
    }
    kernel!(SYS_mlockall, flags) as c_int
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn munlockall() -> c_int {
    let result = kernel!(SYS_munlockall,) as c_int;
    if let Some(pager) = pager() {
        pager.lock_world().lock_all(false);
    }
    result
}

/// Exclude this memory from eviction, until it is unmapped or unlocked.
pub fn keep(address: *const c_void, len: usize) {
    set_locked(address, len, true);
}

fn set_locked(address: *const c_void, len: usize, locked: bool) {
    crate::selector::resume();
    let start = address as usize / PAGE * PAGE;
    let end = (address as usize + len).next_multiple_of(PAGE);
    if let Some((pager, range)) = pages(start as *const c_void, end - start) {
        pager.lock_world().lock(range, locked);
    }
}
