//! The C interface of [`Region`]. `include/swaplab_region.h` documents each function.

use std::ffi::{c_char, c_void, CStr};
use swaplab_pager::Region;

/// The C string at `pointer`, the argument called `name`.
///
/// # Safety
/// `pointer` is null, or the address of a text that ends with a zero and that nobody changes for as
/// long as `'a`.
unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<&'a str, String> {
    if pointer.is_null() {
        return Err(format!("{name}: NULL; expected a text"));
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|e| format!("{name}: {e}; expected a text in UTF-8"))
}

/// Write `reason` into `buffer` as a C string, cut between two characters if it is too long.
fn write_text(reason: &str, buffer: &mut [u8]) {
    let Some(room) = buffer.len().checked_sub(1) else { return };
    let length = (0..=reason.len().min(room)).rev().find(|length| reason.is_char_boundary(*length)).unwrap_or(0);
    buffer[..length].copy_from_slice(&reason.as_bytes()[..length]);
    buffer[length] = 0;
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
    // SAFETY: the header requires texts that end with a zero.
    let create = || unsafe { Region::new(bytes, budget, text("store", store)?, text("policy", policy)?).map_err(|e| e.to_string()) };
    match create() {
        Ok(region) => Box::into_raw(Box::new(region)),
        Err(reason) => {
            if !error.is_null() {
                // SAFETY: zeros are written first, as the caller's buffer of `error_bytes` bytes
                // may be uninitialized.
                let buffer = unsafe {
                    error.write_bytes(0, error_bytes);
                    std::slice::from_raw_parts_mut(error.cast(), error_bytes)
                };
                write_text(&reason, buffer);
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
    // SAFETY: the header requires a text that ends with a zero.
    let Ok(name) = (unsafe { text("name", name) }) else { return u64::MAX };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The reason why no region is created, in a buffer of `room` bytes.
    fn refused(store: *const c_char, policy: *const c_char, room: usize) -> Vec<u8> {
        let mut error = vec![0xff_u8; room];
        // SAFETY: null or texts that end with a zero, and a buffer of that size.
        let region = unsafe { swaplab_region_new(1 << 20, 1 << 16, store, policy, error.as_mut_ptr().cast(), room) };
        assert!(region.is_null());
        error.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()
    }

    #[test]
    fn a_reason_names_the_argument() {
        let (zram, latin) = (c"zram".as_ptr(), c"caf\xe9".as_ptr());
        assert_eq!(refused(std::ptr::null(), zram, 200), b"store: NULL; expected a text");
        assert_eq!(refused(zram, std::ptr::null(), 200), b"policy: NULL; expected a text");
        let reason = String::from_utf8(refused(latin, zram, 200)).unwrap();
        assert!(reason.starts_with("store: ") && reason.ends_with("expected a text in UTF-8"), "{reason}");
    }

    #[test]
    fn a_reason_is_cut_between_two_characters() {
        let cut = |room: usize| {
            let mut buffer = vec![0xff; room];
            write_text("aé", &mut buffer);
            buffer
        };
        assert_eq!([cut(0), cut(1), cut(2), cut(3), cut(4)], [&b""[..], b"\0", b"a\0", b"a\0\xff", "aé\0".as_bytes()].map(<[u8]>::to_vec));
        assert_eq!(refused(std::ptr::null(), std::ptr::null(), 6), b"store");
    }
}
