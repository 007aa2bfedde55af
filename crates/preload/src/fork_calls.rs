//! Forks that the program makes by a system call, not through the C library, whose fork handlers
//! then do not run: by the function `syscall`, by an instruction of its own, or by `_Fork`.

use crate::fork::{before_fork, in_other_child, in_parent};
use crate::raw;
use crate::state::pager;
use libc::{c_int, c_long, pid_t};

/// The kernel's `struct clone_args`, up to its last field in Linux 6.12 (`cgroup`).
type CloneArguments = [u64; 11];
const FLAGS: usize = 0;
const STACK: usize = 5;
const STACK_SIZE: usize = 6;
/// The fields of the first version, in bytes. No call has fewer.
const LEAST_BYTES: usize = 64;

/// A system call that forks: its child gets a copy of the memory.
pub struct ForkCall {
    number: c_long,
    arguments: [usize; 6],
    /// What `clone3` is given by address, and its size in bytes.
    extended: Option<(CloneArguments, usize)>,
    /// The child's stack pointer; 0 if it is the parent's.
    pub stack: usize,
}

/// Recognize such a call in a managed process.
///
/// # Safety
/// As for the system call.
pub unsafe fn forking(number: c_long, arguments: [usize; 6]) -> Option<ForkCall> {
    // SAFETY: guaranteed by the caller.
    pager().and_then(|_| unsafe { parse(number, arguments) })
}

/// The call, if its child gets a copy of the memory and of the thread-local storage. (In other
/// storage this library's variables are missing.)
///
/// # Safety
/// As for the system call.
unsafe fn parse(number: c_long, arguments: [usize; 6]) -> Option<ForkCall> {
    let copies = |flags: c_int| flags & (libc::CLONE_VM | libc::CLONE_SETTLS) == 0;
    let plain = |arguments, stack| Some(ForkCall { number, arguments, extended: None, stack });
    match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork => plain(arguments, 0),
        libc::SYS_clone if copies(arguments[0] as c_int) => {
            let [flags, stack, rest @ ..] = arguments;
            let [parent_id, child_id, tls, sixth] = rest;
            plain([flags, 0, parent_id, child_id, tls, sixth], stack)
        }
        libc::SYS_clone3 => {
            let (given, bytes) = (arguments[0] as *const u8, arguments[1]);
            if given.is_null() || !(LEAST_BYTES..=size_of::<CloneArguments>()).contains(&bytes) {
                return None;
            }
            let mut extended: CloneArguments = [0; 11];
            // SAFETY: the program's own structure of this size, which the kernel would read too.
            unsafe { given.copy_to_nonoverlapping(extended.as_mut_ptr().cast(), bytes) };
            let stack = (extended[STACK] + extended[STACK_SIZE]) as usize;
            (extended[STACK], extended[STACK_SIZE]) = (0, 0);
            copies(extended[FLAGS] as c_int).then_some(ForkCall { number, arguments, extended: Some((extended, bytes)), stack })
        }
        _ => None,
    }
}

impl ForkCall {
    /// Fork, and let the child go on with the parent's stack. Returns as the C library does: the
    /// child's number, 0 in the child, or -1 with errno.
    ///
    /// # Safety
    /// As for the system call.
    pub unsafe fn perform(&self) -> isize {
        // SAFETY: guaranteed by the caller; the handlers run around the fork, in this thread.
        unsafe {
            around_fork(|| match &self.extended {
                Some((extended, bytes)) => raw::call(self.number, &[extended.as_ptr() as usize, *bytes]),
                None => raw::call(self.number, &self.arguments),
            })
        }
    }
}

/// Run the fork handlers around `fork`.
///
/// # Safety
/// `fork` returns 0 in a child with a copy of the memory.
unsafe fn around_fork(fork: impl FnOnce() -> isize) -> isize {
    // SAFETY: the handlers run around the fork, in this thread, and errno is this thread's.
    unsafe {
        before_fork();
        let id = fork();
        let errno = *libc::__errno_location();
        if id == 0 {
            in_other_child();
        } else {
            in_parent();
        }
        *libc::__errno_location() = errno;
        id
    }
}

/// The C library's fork without fork handlers.
///
/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn _Fork() -> pid_t {
    let function = next!(c"_Fork", unsafe extern "C" fn() -> pid_t);
    // SAFETY: guaranteed by the caller; the function forks.
    unsafe { around_fork(|| function() as isize) as pid_t }
}
