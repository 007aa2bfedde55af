//! System calls without the C library, whose `syscall` is ours in a program that is paged.

use libc::{c_int, c_long};
use std::arch::asm;

/// A system call of the program's, by its name and as the program made it.
macro_rules! kernel {
    ($number:ident, $($argument:expr),*) => {
        // SAFETY: the program's own system call, as it made it.
        unsafe { crate::raw::call(libc::$number, &[$($argument as usize),*]) }
    };
}

/// # Safety
/// As the system call's.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn kernel(number: c_long, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention; what the call does is the caller's concern.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3],
            in("r8") a[4], in("r9") a[5], lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// # Safety
/// As the system call's.
#[cfg(target_arch = "aarch64")]
#[inline]
unsafe fn kernel(number: c_long, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention; what the call does is the caller's concern.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a[0] => result, in("x1") a[1], in("x2") a[2], in("x3") a[3], in("x4") a[4],
            in("x5") a[5], options(nostack));
    }
    result
}

/// A system call as the C library makes it: -1 and errno for an error.
///
/// # Safety
/// As the system call's.
#[inline]
pub unsafe fn call(number: c_long, arguments: &[usize]) -> isize {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    // SAFETY: by the caller's promise.
    let result = unsafe { kernel(number, all) };
    if (-4095..0).contains(&result) {
        // SAFETY: errno is this thread's.
        unsafe { *libc::__errno_location() = -result as c_int };
        return -1;
    }
    result
}

/// What the program's own system call `number` becomes, if it is about memory or starts a program: the function of that name.
///
/// # Safety
/// As the system call's.
pub unsafe fn managed_call(number: c_long, a: [usize; 6]) -> Option<isize> {
    use crate::locks::*;
    use crate::maps::*;
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
            libc::SYS_execve => crate::exec::execve(a[0] as _, a[1] as _, a[2] as _) as isize,
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
    unsafe { managed_call(number, [a, b, c, d, e, f]).unwrap_or_else(|| call(number, &[a, b, c, d, e, f])) as c_long }
}
