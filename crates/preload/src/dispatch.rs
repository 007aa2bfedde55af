//! Intercepts system calls that the program makes itself, not through the C library (Go, custom
//! memory managers). By *syscall user dispatch* (Linux 5.11) the kernel sends the thread a SIGSYS
//! at such a call. Calls about memory are performed by the functions of [`maps`](crate::maps), the
//! others unchanged. Dispatch is switched on, for each thread, if the program's own code contains a
//! system-call instruction. Then every system call takes about 0.1 µs longer, and an intercepted
//! one about 2 µs more.
//!
//! SIGSYS must never be blocked meanwhile, as the kernel would kill the program. So SIGSYS is
//! removed from the masks and handlers that the program sets, through the C library or by itself.

use crate::objects::{enters_the_kernel, objects, Object};
use crate::{calls, fork_calls, raw, selector};
use libc::{c_int, c_long, c_void, ucontext_t};
use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Switch dispatch on if the program's code needs it. Called once, before the program runs.
pub fn start() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let objects = objects();
    let this_code = start as *const () as usize;
    let is_this_library = |o: &&Object| o.code.iter().any(|code| code.contains(&this_code));
    let is_libc =
        |o: &&Object| o.name.rsplit('/').next().is_some_and(|name| ["libc.so", "libc-", "ld-"].iter().any(|n| name.starts_with(n)));
    let excluded: Vec<&Range<usize>> = objects.iter().filter(|o| is_this_library(o) || is_libc(o)).flat_map(|o| &o.code).collect();
    let (Some(from), Some(to)) = (excluded.iter().map(|c| c.start).min(), excluded.iter().map(|c| c.end).max()) else { return };
    let outside = objects.iter().filter(|o| o.name != "linux-vdso.so.1").flat_map(|o| &o.code).filter(|c| c.end <= from || c.start >= to);
    if !outside.into_iter().any(enters_the_kernel) {
        return;
    }
    let mut action = Action {
        handler: on_call as *const () as usize,
        flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART) as _,
        ..ACTION
    };
    if set_action(libc::SIGSYS, &mut action) {
        selector::switch_on_outside(from, to);
    }
}

/// The kernel's `struct sigaction`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Action {
    pub handler: usize,
    pub flags: usize,
    pub restorer: usize,
    pub mask: u64,
}

pub const ACTION: Action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };
const SIGSYS_BIT: u64 = 1 << (libc::SIGSYS - 1);
const SET_BYTES: usize = 8;

/// The program's own action for SIGSYS, which seccomp also sends.
pub struct ActionCell(pub UnsafeCell<Action>);
// SAFETY: written by `sigaction`, which programs do not call from two threads at once for the same
// signal; read in the handler.
unsafe impl Sync for ActionCell {}
pub static PROGRAM_ACTION: ActionCell = ActionCell(UnsafeCell::new(ACTION));

/// Set a signal's action by the C library's `sigaction`, which supplies the code that a handler
/// returns to. Returns whether it succeeded.
fn set_action(signal: c_int, action: &mut Action) -> bool {
    let function = next!(c"sigaction", unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    // SAFETY: all zeros is a valid action; the handler is a function of this module.
    unsafe {
        let mut given: libc::sigaction = std::mem::zeroed();
        given.sa_sigaction = action.handler;
        given.sa_flags = action.flags as c_int;
        function(signal, &given, std::ptr::null_mut()) == 0
    }
}

/// The handler of SIGSYS.
///
/// # Safety
/// Only the kernel may call it: at a dispatched system call, or at one that seccomp has refused.
unsafe extern "C" fn on_call(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    const SECCOMP: c_int = 1;
    const USER_DISPATCH: c_int = 2;
    // SAFETY: the kernel passes a handler valid arguments.
    unsafe {
        if (*info).si_code != USER_DISPATCH {
            let wanted = *PROGRAM_ACTION.0.get();
            match wanted.handler {
                libc::SIG_DFL => end_by(signal),
                // The kernel ends a program that ignores a call refused by seccomp.
                libc::SIG_IGN if (*info).si_code == SECCOMP => end_by(signal),
                libc::SIG_IGN => (),
                handler => {
                    std::mem::transmute::<usize, extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)>(handler)(signal, info, context)
                }
            }
            return;
        }
        let errno = *libc::__errno_location();
        perform(&mut *(context as *mut ucontext_t));
        *libc::__errno_location() = errno;
    }
}

/// End the process by the signal, which it does not handle.
fn end_by(signal: c_int) -> ! {
    static ENDS: AtomicBool = AtomicBool::new(false);
    // If seccomp refuses one of these calls, this runs a second time.
    if !ENDS.swap(true, Ordering::Relaxed) {
        let action = ACTION;
        kernel!(SYS_rt_sigaction, signal, &raw const action, 0, SET_BYTES);
        let (process, thread) = (kernel!(SYS_getpid,), kernel!(SYS_gettid,));
        kernel!(SYS_tgkill, process, thread, signal);
    }
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}

/// Perform the system call at which the thread was interrupted, and set its result in the saved
/// registers.
///
/// # Safety
/// As for `on_call`.
#[cfg(target_arch = "x86_64")]
unsafe fn perform(context: &mut ucontext_t) {
    use libc::{REG_R10, REG_R8, REG_R9, REG_RAX, REG_RDI, REG_RDX, REG_RIP, REG_RSI, REG_RSP};
    let registers = &mut context.uc_mcontext.gregs;
    let number = registers[REG_RAX as usize] as c_long;
    let a = [REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9].map(|r| registers[r as usize] as usize);
    let mask = (&raw mut context.uc_sigmask).cast::<u64>();
    // SAFETY: the program's own system call, with its own arguments.
    let result = unsafe {
        match number {
            libc::SYS_clone | libc::SYS_clone3 | libc::SYS_vfork | libc::SYS_fork => {
                // A child with a copy of the memory has a copy of this handler's frame, too, and
                // returns from it as the parent does, to its own stack.
                if let Some(fork) = fork_calls::forking(number, a) {
                    let id = fork.perform();
                    if id == 0 && fork.stack != 0 {
                        registers[REG_RSP as usize] = fork.stack as i64;
                    }
                    registers[REG_RAX as usize] = negative_error(id) as i64;
                    return;
                }
                // From here, a new thread would start inside this handler. So return to the
                // instruction and execute it again, without dispatch. This thread's later calls are
                // not dispatched either, until it calls a memory function.
                selector::pause();
                registers[REG_RIP as usize] -= 2;
                return;
            }
            // Return from the program's own signal frame, not from the one of this handler.
            libc::SYS_rt_sigreturn => {
                std::arch::asm!("mov rsp, {}", "mov eax, 15", "syscall", "ud2", in(reg) registers[REG_RSP as usize], options(noreturn))
            }
            // At its end this handler restores the mask and the stack that are saved in its frame,
            // so change those.
            libc::SYS_rt_sigprocmask => {
                let (new, old) = (a[1] as *const u64, a[2] as *mut u64);
                let given = if new.is_null() { 0 } else { *new };
                let before = *mask;
                match a[0] as c_int {
                    _ if new.is_null() => (),
                    libc::SIG_BLOCK => *mask |= given,
                    libc::SIG_UNBLOCK => *mask &= !given,
                    _ => *mask = given,
                }
                *mask &= !SIGSYS_BIT;
                if !old.is_null() {
                    *old = before;
                }
                0
            }
            libc::SYS_sigaltstack => {
                let (new, old) = (a[0] as *const libc::stack_t, a[1] as *mut libc::stack_t);
                if !old.is_null() {
                    *old = context.uc_stack;
                    let sp = registers[REG_RSP as usize] as usize;
                    let within = (old.read().ss_sp as usize..old.read().ss_sp as usize + old.read().ss_size).contains(&sp);
                    (*old).ss_flags = if (*old).ss_size == 0 { libc::SS_DISABLE } else { within as c_int * libc::SS_ONSTACK };
                }
                if !new.is_null() {
                    context.uc_stack = *new;
                }
                0
            }
            libc::SYS_rt_sigaction => own_sigaction(a[0] as c_int, a[1] as *const Action, a[2] as *mut Action),
            _ => negative_error(calls::managed_call(number, a).unwrap_or_else(|| raw::call(number, &a))),
        }
    };
    context.uc_mcontext.gregs[REG_RAX as usize] = result as i64;
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn perform(_: &mut ucontext_t) {}

/// Convert the C convention, -1 and errno, to the kernel's negative error number.
fn negative_error(result: isize) -> isize {
    // SAFETY: errno is this thread's.
    if result == -1 {
        -(unsafe { *libc::__errno_location() } as isize)
    } else {
        result
    }
}

/// Perform the system call `rt_sigaction`, with SIGSYS removed from the handler's mask.
///
/// # Safety
/// As for the system call.
unsafe fn own_sigaction(signal: c_int, new: *const Action, old: *mut Action) -> isize {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if signal == libc::SIGSYS {
            let before = *PROGRAM_ACTION.0.get();
            if !new.is_null() {
                *PROGRAM_ACTION.0.get() = *new;
            }
            if !old.is_null() {
                *old = before;
            }
            return 0;
        }
        let mut changed = if new.is_null() { ACTION } else { *new };
        changed.mask &= !SIGSYS_BIT;
        let new = if new.is_null() { 0 } else { &raw const changed as usize };
        negative_error(raw::call(libc::SYS_rt_sigaction, &[signal as usize, new, old as usize, SET_BYTES]))
    }
}
