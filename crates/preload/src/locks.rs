//! mlock and its family: what the program locks stays in DRAM.

use crate::maps::pages;
use crate::state::pager;
use libc::{c_int, c_void, size_t};
use swaplab_pager::kernel::PAGE;

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn mlock(address: *const c_void, len: size_t) -> c_int {
    hold(address, len, true);
    kernel!(SYS_mlock, address, len) as c_int
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn mlock2(address: *const c_void, len: size_t, flags: libc::c_uint) -> c_int {
    hold(address, len, true);
    kernel!(SYS_mlock2, address, len, flags) as c_int
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn munlock(address: *const c_void, len: size_t) -> c_int {
    let result = kernel!(SYS_munlock, address, len) as c_int;
    hold(address, len, false);
    result
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn mlockall(flags: c_int) -> c_int {
    if let Some(pager) = pager() {
        // Everything is to stay in memory: the program may, and the pager then has nothing to do.
        pager.world().lock_all(true);
        // What is in memory stays there. To bring in all that is mapped would take the store's whole address space.
        return kernel!(SYS_mlockall, flags | libc::MCL_ONFAULT) as c_int;
    }
    kernel!(SYS_mlockall, flags) as c_int
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn munlockall() -> c_int {
    let result = kernel!(SYS_munlockall,) as c_int;
    if let Some(pager) = pager() {
        pager.world().lock_all(false);
    }
    result
}

/// From here on this memory stays in DRAM.
pub fn keep(address: *const c_void, len: usize) {
    hold(address, len, true);
}

fn hold(address: *const c_void, len: usize, locked: bool) {
    let start = address as usize / PAGE * PAGE;
    let end = (address as usize + len).next_multiple_of(PAGE);
    if let Some((pager, range)) = pages(start as *const c_void, end - start) {
        pager.world().lock(range, locked);
    }
}
