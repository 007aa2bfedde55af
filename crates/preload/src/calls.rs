//! System calls by number, which the program makes itself or through the C library's `syscall`.

use crate::exec::execve;
use crate::locks::*;
use crate::maps::*;
use crate::{faults, fork_calls, pins, raw};
use libc::c_long;

/// Perform a system call of the program by the interposed function of its name, if it changes
/// memory or who handles its faults, pins memory or starts a program. `None`, without a call, for
/// all others.
///
/// # Safety
/// As for the system call.
pub unsafe fn managed_call(number: c_long, a: [usize; 6]) -> Option<isize> {
    // SAFETY: guaranteed by the caller.
    Some(unsafe {
        match number {
            libc::SYS_mmap => mmap(a[0] as _, a[1], a[2] as _, a[3] as _, a[4] as _, a[5] as _) as isize,
            libc::SYS_munmap => munmap(a[0] as _, a[1]) as isize,
            libc::SYS_mprotect => mprotect(a[0] as _, a[1], a[2] as _) as isize,
            libc::SYS_pkey_mprotect => pkey_mprotect(a[0] as _, a[1], a[2] as _, a[3] as _) as isize,
            libc::SYS_madvise => madvise(a[0] as _, a[1], a[2] as _) as isize,
            libc::SYS_process_madvise => process_madvise(a[0] as _, a[1] as _, a[2], a[3] as _, a[4] as _),
            libc::SYS_mremap => mremap(a[0] as _, a[1], a[2], a[3] as _, a[4] as _) as isize,
            libc::SYS_mlock => mlock(a[0] as _, a[1]) as isize,
            libc::SYS_mlock2 => mlock2(a[0] as _, a[1], a[2] as _) as isize,
            libc::SYS_munlock => munlock(a[0] as _, a[1]) as isize,
            libc::SYS_mlockall => mlockall(a[0] as _) as isize,
            libc::SYS_munlockall => munlockall() as isize,
            libc::SYS_ioctl => faults::ioctl(a[0] as _, a[1] as _, a[2] as _) as isize,
            libc::SYS_execve => execve(a[0] as _, a[1] as _, a[2] as _) as isize,
            libc::SYS_openat => raw::call(number, &[a[0], a[1], pins::without_direct_flag(a[2] as _) as usize, a[3]]),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => raw::call(number, &[a[0], pins::without_direct_flag(a[1] as _) as usize, a[2]]),
            libc::SYS_openat2 => pins::openat2(a[0] as _, a[1] as _, a[2] as _, a[3]),
            libc::SYS_fcntl => raw::call(number, &[a[0], a[1], pins::fcntl_value_without_direct_flag(a[1] as _, a[2])]),
            libc::SYS_io_uring_setup => pins::io_uring_setup(a[0] as _, a[1] as _),
            libc::SYS_io_uring_register => pins::io_uring_register(a[0] as _, a[1] as _, a[2] as _, a[3] as _),
            _ => return None,
        }
    })
}

/// The C library's `syscall`. The caller passes the arguments of the call only; the values of the
/// others are arbitrary.
///
/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let all = [a, b, c, d, e, f];
        let result = match fork_calls::forking(number, all).filter(|fork| fork.stack == 0) {
            Some(fork) => Some(fork.perform()),
            None => managed_call(number, all),
        };
        result.unwrap_or_else(|| raw::call(number, &all)) as c_long
    }
}
