//! `RLIMIT_AS`. A program that limits its address space does not expect the pager's reservations,
//! so the kernel's limit is the program's limit plus these. The program reads back the limit that
//! it set; programs that it starts inherit the larger one.

use crate::state::pager;
use libc::{c_int, pid_t, rlimit};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether the program has set a limit, and its limit.
static SET: AtomicBool = AtomicBool::new(false);
static SOFT: AtomicU64 = AtomicU64::new(libc::RLIM_INFINITY);
static HARD: AtomicU64 = AtomicU64::new(libc::RLIM_INFINITY);

/// Whether `added` bytes of managed memory would exceed the limit that the program has set. A limit
/// that it was started with is enforced by the kernel, because the pager's reservations, in which
/// managed memory lies, count towards it.
pub fn forbids(pager: &swaplab_pager::Pager, added: usize) -> bool {
    let limit = SOFT.load(Ordering::Relaxed);
    limit != libc::RLIM_INFINITY && (pager.lock_managed().managed_bytes() + added) as u64 > limit
}

/// The limit to set in the kernel: the program's limit plus `reserved` bytes.
fn kernel_limit(limit: u64, reserved: u64) -> u64 {
    if limit == libc::RLIM_INFINITY {
        limit
    } else {
        limit.saturating_add(reserved).min(libc::RLIM_INFINITY - 1)
    }
}

/// Let the kernel read `new` and change nothing. Returns -1 with EFAULT in `errno` if it cannot be
/// read.
fn check(new: *const rlimit) -> c_int {
    /// The kernel reads the structure before it refuses a resource that does not exist.
    const NO_RESOURCE: c_int = c_int::MAX;
    // SAFETY: the address of the C library's variable; the kernel checks the address of `new`.
    unsafe {
        let (errno, before) = (libc::__errno_location(), *libc::__errno_location());
        libc::syscall(libc::SYS_prlimit64, 0, NO_RESOURCE, new, std::ptr::null_mut::<rlimit>());
        if *errno == libc::EFAULT {
            return -1;
        }
        *errno = before;
    }
    0
}

/// Perform `prlimit` for the program.
fn get_and_set(pid: pid_t, resource: c_int, new: *const rlimit, old: *mut rlimit) -> c_int {
    // SAFETY: the program's own system call, with its own arguments.
    let kernel = |new: *const rlimit, old: *mut rlimit| unsafe { libc::syscall(libc::SYS_prlimit64, pid, resource, new, old) as c_int };
    let own = pid == 0 || pid == std::process::id() as pid_t;
    let Some(pager) = pager().filter(|_| own && resource == libc::RLIMIT_AS as c_int) else { return kernel(new, old) };
    let (was_set, was) =
        (SET.load(Ordering::Relaxed), rlimit { rlim_cur: SOFT.load(Ordering::Relaxed), rlim_max: HARD.load(Ordering::Relaxed) });
    let result = if new.is_null() {
        kernel(new, old)
    } else {
        let checked = check(new);
        if checked != 0 {
            return checked;
        }
        // SAFETY: the program's structure, which the kernel has just read.
        let limit = unsafe { *new };
        let reserved = (crate::own::taken() + pager.address_space()) as u64;
        let raised = rlimit { rlim_cur: kernel_limit(limit.rlim_cur, reserved), rlim_max: kernel_limit(limit.rlim_max, reserved) };
        let result = kernel(&raised, old);
        if result == 0 {
            SOFT.store(limit.rlim_cur, Ordering::Relaxed);
            HARD.store(limit.rlim_max, Ordering::Relaxed);
            SET.store(true, Ordering::Relaxed);
        }
        result
    };
    if result == 0 && was_set && !old.is_null() {
        // SAFETY: the program's structure, which the system call has written.
        unsafe { *old = was };
    }
    result
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn prlimit(pid: pid_t, resource: c_int, new: *const rlimit, old: *mut rlimit) -> c_int {
    get_and_set(pid, resource, new, old)
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn prlimit64(pid: pid_t, resource: c_int, new: *const rlimit, old: *mut rlimit) -> c_int {
    get_and_set(pid, resource, new, old)
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn setrlimit(resource: c_int, new: *const rlimit) -> c_int {
    get_and_set(0, resource, new, std::ptr::null_mut())
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn setrlimit64(resource: c_int, new: *const rlimit) -> c_int {
    get_and_set(0, resource, new, std::ptr::null_mut())
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn getrlimit(resource: c_int, old: *mut rlimit) -> c_int {
    get_and_set(0, resource, std::ptr::null(), old)
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn getrlimit64(resource: c_int, old: *mut rlimit) -> c_int {
    get_and_set(0, resource, std::ptr::null(), old)
}
