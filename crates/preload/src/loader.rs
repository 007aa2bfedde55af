//! `dlopen` without `RTLD_DEEPBIND`. A library opened with this flag would use the C library's
//! malloc instead of the interposed one, and blocks of one heap would be freed to the other. PHP
//! opens its extensions with this flag.

use libc::{c_char, c_int, c_void};

type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// Open a library without `RTLD_DEEPBIND`. The C library derives the search path from its caller's
/// address. The last call is compiled to a jump, so that the C library sees the program as its
/// caller.
///
/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void {
    let open = next!(c"dlopen", Open);
    // SAFETY: guaranteed by the caller.
    unsafe { open(file, mode & !libc::RTLD_DEEPBIND) }
}
