//! System calls by their number: those that the program makes itself, or by the C library's `syscall`.

use crate::exec::execve;
use crate::locks::*;
use crate::maps::*;
use crate::{pins, raw};
use libc::c_long;

/// What the program's own system call `number` becomes, if it is about memory, pins it or starts a program: the function of that name.
///
/// # Safety
/// As the system call's.
pub unsafe fn managed_call(number: c_long, a: [usize; 6]) -> Option<isize> {
    // SAFETY: by the caller's promise.
    Some(unsafe {
        match number {
            libc::SYS_mmap => mmap(a[0] as _, a[1], a[2] as _, a[3] as _, a[4] as _, a[5] as _) as isize,
            libc::SYS_munmap => munmap(a[0] as _, a[1]) as isize,
            libc::SYS_mprotect => mprotect(a[0] as _, a[1], a[2] as _) as isize,
            libc::SYS_pkey_mprotect => pkey_mprotect(a[0] as _, a[1], a[2] as _, a[3] as _) as isize,
            libc::SYS_madvise => madvise(a[0] as _, a[1], a[2] as _) as isize,
            libc::SYS_mremap => mremap(a[0] as _, a[1], a[2], a[3] as _, a[4] as _) as isize,
            libc::SYS_mlock => mlock(a[0] as _, a[1]) as isize,
            libc::SYS_mlock2 => mlock2(a[0] as _, a[1], a[2] as _) as isize,
            libc::SYS_munlock => munlock(a[0] as _, a[1]) as isize,
            libc::SYS_mlockall => mlockall(a[0] as _) as isize,
            libc::SYS_munlockall => munlockall() as isize,
            libc::SYS_execve => execve(a[0] as _, a[1] as _, a[2] as _) as isize,
            libc::SYS_openat => raw::call(number, &[a[0], a[1], pins::unpinned(a[2] as _) as usize, a[3]]),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => raw::call(number, &[a[0], pins::unpinned(a[1] as _) as usize, a[2]]),
            libc::SYS_openat2 => pins::openat2(a[0] as _, a[1] as _, a[2] as _, a[3]),
            libc::SYS_fcntl => raw::call(number, &[a[0], a[1], pins::controlled(a[1] as _, a[2])]),
            libc::SYS_io_uring_setup => pins::io_uring_setup(a[0] as _, a[1] as _),
            libc::SYS_io_uring_register => pins::io_uring_register(a[0] as _, a[1] as _, a[2] as _, a[3] as _),
            _ => return None,
        }
    })
}

/// The C library's `syscall`, which takes as many arguments as the call has; the rest are whatever is in their registers.
///
/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    // SAFETY: by the caller's promise.
    unsafe { managed_call(number, [a, b, c, d, e, f]).unwrap_or_else(|| raw::call(number, &[a, b, c, d, e, f])) as c_long }
}
