//! `dlopen` without `RTLD_DEEPBIND`: a library opened with it would take the C library's malloc in place of the program's, and what one
//! of them allocates the other frees. (PHP opens its extensions so.)

use libc::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

#[cold]
fn resolve() -> *mut c_void {
    // SAFETY: a name that ends with a zero.
    let function = unsafe { libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr()) };
    NEXT.store(function, Ordering::Relaxed);
    function
}

/// The C library looks at who calls it, for the paths that are searched: the last call here is a jump, so that it sees the program.
///
/// # Safety
/// As C's.
#[no_mangle]
pub unsafe extern "C" fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void {
    let mut function = NEXT.load(Ordering::Relaxed);
    if function.is_null() {
        function = resolve();
    }
    // SAFETY: by the caller's promise; the C library's function of that name has this type.
    unsafe { std::mem::transmute::<*mut c_void, Open>(function)(file, mode & !libc::RTLD_DEEPBIND) }
}
