//! A hint to the processor, for loops whose next steps are known and whose data lie beyond its caches.

/// Have element `index` of `slice` brought near, without waiting for it. There need not be such an element.
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
