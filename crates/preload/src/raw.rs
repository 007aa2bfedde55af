//! System calls without the C library, whose `syscall` is [`calls`](crate::calls)' in a program that is paged.

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
        return failed(-result as c_int);
    }
    result
}

/// What a system call that failed for `errno` says.
pub fn failed(errno: c_int) -> isize {
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = errno };
    -1
}
