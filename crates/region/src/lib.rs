//! A [`Region`] for programs in C; `include/swaplab_region.h` says what each call does.

use std::ffi::{c_char, c_void, CStr};
use swaplab_pager::Region;

fn text<'a>(pointer: *const c_char) -> Result<&'a str, String> {
    if pointer.is_null() {
        return Err("a text is NULL".into());
    }
    // SAFETY: by the header, text that ends with a zero.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|e| e.to_string())
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn swaplab_region_new(
    bytes: usize,
    budget: usize,
    store: *const c_char,
    policy: *const c_char,
    error: *mut c_char,
    error_bytes: usize,
) -> *mut Region {
    let made = || Region::new(bytes, budget, text(store)?, text(policy)?).map_err(|e| e.to_string());
    match made() {
        Ok(region) => Box::into_raw(Box::new(region)),
        Err(why) => {
            let length = why.len().min(error_bytes.saturating_sub(1));
            if !error.is_null() && error_bytes > 0 {
                // SAFETY: the caller's buffer of `error_bytes`.
                unsafe {
                    std::ptr::copy_nonoverlapping(why.as_ptr(), error.cast(), length);
                    *error.add(length) = 0;
                }
            }
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn swaplab_region_memory(region: *mut Region) -> *mut c_void {
    // SAFETY: by the header, a region of `swaplab_region_new`.
    unsafe { (*region).as_mut_slice() }.as_mut_ptr().cast()
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn swaplab_region_counter(region: *const Region, name: *const c_char) -> u64 {
    let Ok(name) = text(name) else { return u64::MAX };
    // SAFETY: by the header, a region of `swaplab_region_new`.
    let counters = unsafe { (*region).stats() }.read();
    counters.iter().find(|(known, _)| *known == name).map_or(u64::MAX, |(_, value)| *value)
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn swaplab_region_free(region: *mut Region) {
    if !region.is_null() {
        // SAFETY: by the header, a region of `swaplab_region_new` that nobody uses any more.
        drop(unsafe { Box::from_raw(region) });
    }
}
