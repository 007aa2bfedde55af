//! `dlopen` without `RTLD_DEEPBIND`: a library opened with it would take the C library's malloc in place of the program's, and what one
//! of them allocates the other frees. (PHP opens its extensions so.)

use libc::{c_char, c_int, c_void};

type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// The C library looks at who calls it, for the paths that are searched: the last call here is a jump, so that it sees the program.
///
/// # Safety
/// As C's.
#[no_mangle]
pub unsafe extern "C" fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void {
    let open = next!(c"dlopen", Open);
    // SAFETY: by the caller's promise.
    unsafe { open(file, mode & !libc::RTLD_DEEPBIND) }
}
