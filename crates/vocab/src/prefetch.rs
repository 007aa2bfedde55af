//! A prefetch hint for loops that know their next accesses and whose data do not fit into the
//! processor's caches.

/// Prefetch `slice[index]`; `index` may be out of bounds.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    let address = slice.as_ptr().wrapping_add(index);
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: a prefetch reads nothing into the program and never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch(address.cast(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
