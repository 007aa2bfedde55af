//! The C interface of [`Region`]. `include/swaplab_region.h` documents each function.

use std::ffi::{c_char, c_void, CStr};
use swaplab_pager::Region;

/// The C string at `pointer`, if it is UTF-8.
fn text<'a>(pointer: *const c_char) -> Result<&'a str, String> {
    if pointer.is_null() {
        return Err("a text argument is NULL".into());
    }
    // SAFETY: the header requires a text that ends with a zero.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|e| e.to_string())
}

/// # Safety
/// As documented in the header.
#[no_mangle]
pub unsafe extern "C" fn swaplab_region_new(
    bytes: usize,
    budget: usize,
    store: *const c_char,
    policy: *const c_char,
    error: *mut c_char,
    error_bytes: usize,
) -> *mut Region {
    let create = || Region::new(bytes, budget, text(store)?, text(policy)?).map_err(|e| e.to_string());
    match create() {
        Ok(region) => Box::into_raw(Box::new(region)),
        Err(reason) => {
            let length = reason.len().min(error_bytes.saturating_sub(1));
            if !error.is_null() && error_bytes > 0 {
                // SAFETY: the caller's buffer of `error_bytes` bytes.
                unsafe {
                    std::ptr::copy_nonoverlapping(reason.as_ptr(), error.cast(), length);
                    *error.add(length) = 0;
                }
            }
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// As documented in the header.
#[no_mangle]
pub unsafe extern "C" fn swaplab_region_memory(region: *mut Region) -> *mut c_void {
    // SAFETY: the header requires a region of `swaplab_region_new`.
    unsafe { (*region).as_mut_slice() }.as_mut_ptr().cast()
}

/// # Safety
/// As documented in the header.
#[no_mangle]
pub unsafe extern "C" fn swaplab_region_counter(region: *const Region, name: *const c_char) -> u64 {
    let Ok(name) = text(name) else { return u64::MAX };
    // SAFETY: the header requires a region of `swaplab_region_new`.
    let counters = unsafe { (*region).stats() }.read();
    counters.iter().find(|(known, _)| *known == name).map_or(u64::MAX, |(_, value)| *value)
}

/// # Safety
/// As documented in the header.
#[no_mangle]
pub unsafe extern "C" fn swaplab_region_free(region: *mut Region) {
    if !region.is_null() {
        // SAFETY: the header requires a region of `swaplab_region_new` that is not used any more.
        drop(unsafe { Box::from_raw(region) });
    }
}
