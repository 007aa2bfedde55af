//! A program that gives up its rights may need a pager later, and could not start one then: it is started before.

use libc::{c_char, c_int, uid_t};

/// The program's own function of this name, in the C library.
macro_rules! next {
    ($name:literal, fn($($argument:ident: $kind:ty),*)) => {{
        if let Some(pager) = crate::pager() {
            crate::run(pager);
        }
        // SAFETY: a name that ends with a zero.
        let function = unsafe { libc::dlsym(libc::RTLD_NEXT, $name.as_ptr()) };
        if function.is_null() {
            return -1;
        }
        // SAFETY: the C library's function of that name has this type.
        unsafe { std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn($($kind),*) -> c_int>(function)($($argument),*) }
    }};
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn setuid(user: uid_t) -> c_int {
    next!(c"setuid", fn(user: uid_t))
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn seteuid(user: uid_t) -> c_int {
    next!(c"seteuid", fn(user: uid_t))
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn setreuid(real: uid_t, effective: uid_t) -> c_int {
    next!(c"setreuid", fn(real: uid_t, effective: uid_t))
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn setresuid(real: uid_t, effective: uid_t, saved: uid_t) -> c_int {
    next!(c"setresuid", fn(real: uid_t, effective: uid_t, saved: uid_t))
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn chroot(path: *const c_char) -> c_int {
    next!(c"chroot", fn(path: *const c_char))
}
