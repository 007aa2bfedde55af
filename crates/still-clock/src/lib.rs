//! `gettimeofday` that stands still, for QEMU under `-icount`.
//!
//! QEMU resizes its table of translated addresses (the softmmu TLB) by how full it was within 100 ms of the host's date. A kernel that
//! clears a page's accessed bit does not flush the TLB: whether the page's next use sets the bit again depends on whether its entry was
//! evicted meanwhile, so on the table's size, so on how busy the host is, and reclaim decides by accessed bits. While the date stands
//! still the table only grows, as the guest's own accesses make it grow.

use libc::{c_int, c_void, timeval};

/// The first second of 2026, which is what the guest's clock starts with as well.
const DATE: timeval = timeval { tv_sec: 1_767_225_600, tv_usec: 0 };

/// The date, always the same one.
///
/// # Safety
/// `date` is null or points to a `timeval` that may be written, as C's `gettimeofday` asks.
#[no_mangle]
pub unsafe extern "C" fn gettimeofday(date: *mut timeval, _zone: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    if let Some(date) = unsafe { date.as_mut() } {
        *date = DATE;
    }
    0
}
