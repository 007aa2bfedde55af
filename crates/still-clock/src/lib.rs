//! A `gettimeofday` whose result never changes, for QEMU with `-icount`.
//!
//! QEMU resizes its table of translated addresses (the softmmu TLB) by its use within 100 ms of the
//! host's clock. When the guest's kernel clears a page's reference bit, it does not flush the TLB:
//! the next access sets the bit only if the page's entry was evicted from the TLB meanwhile. That
//! depends on the table's size and so on the load of the host, and reclaim decides by reference
//! bits. With a constant clock the table only grows, and only because of the guest's own accesses.

use libc::{c_int, c_void, timeval};

/// The first second of 2026, at which the guest's clock also starts.
const DATE: timeval = timeval { tv_sec: 1_767_225_600, tv_usec: 0 };

/// Return [`DATE`].
///
/// # Safety
/// `date` is null or points to a writable `timeval`, as for C's `gettimeofday`.
#[no_mangle]
pub unsafe extern "C" fn gettimeofday(date: *mut timeval, _zone: *mut c_void) -> c_int {
    // SAFETY: guaranteed by the caller.
    if let Some(date) = unsafe { date.as_mut() } {
        *date = DATE;
    }
    0
}
