//! A hint to the processor, for loops whose next steps are known and whose data lie beyond its caches.

/// Have element `index` of `slice` brought near, without waiting for it; nothing happens if there is no such element.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    if let Some(element) = slice.get(index) {
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        // SAFETY: a prefetch reads nothing into the program and never faults; the address is that of a live element besides.
        unsafe {
            use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
            _mm_prefetch(std::ptr::from_ref(element).cast(), _MM_HINT_T0);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = element;
    }
}
