//! System calls without the C library, whose `syscall` is interposed by [`calls`](crate::calls).

use libc::{c_int, c_long, c_void};
use std::arch::asm;

/// Make a system call of the program, unchanged, by its name.
macro_rules! kernel {
    ($number:ident, $($argument:expr),*) => {
        // SAFETY: the program's own system call, with its own arguments.
        unsafe { crate::raw::call(libc::$number, &[$($argument as usize),*]) }
    };
}

/// # Safety
/// As for the system call.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn system_call(number: c_long, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: follows the kernel's calling convention; the caller guarantees the call itself.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3],
            in("r8") a[4], in("r9") a[5], lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// # Safety
/// As for the system call.
#[cfg(target_arch = "aarch64")]
#[inline]
unsafe fn system_call(number: c_long, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: follows the kernel's calling convention; the caller guarantees the call itself.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a[0] => result, in("x1") a[1], in("x2") a[2], in("x3") a[3], in("x4") a[4],
            in("x5") a[5], options(nostack));
    }
    result
}

/// Make a system call with the C library's convention: -1 and errno for an error.
///
/// # Safety
/// As for the system call.
#[inline]
pub unsafe fn call(number: c_long, arguments: &[usize]) -> isize {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    // SAFETY: guaranteed by the caller.
    let result = unsafe { system_call(number, all) };
    if (-4095..0).contains(&result) {
        return failed(-result as c_int);
    }
    result
}

/// Set errno and return -1, like a failed C function.
pub fn failed(errno: c_int) -> isize {
    // SAFETY: errno is this thread's.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// The first two words at an address; `None` if the program cannot read it.
pub fn two_words(at: usize) -> Option<[usize; 2]> {
    let mut words = [0usize; 2];
    let size = size_of_val(&words);
    let [to, from] = [words.as_mut_ptr() as usize, at].map(|base| libc::iovec { iov_base: base as *mut c_void, iov_len: size });
    let read = kernel!(SYS_process_vm_readv, std::process::id(), &raw const to, 1, &raw const from, 1, 0);
    (read == size as isize).then_some(words)
}
