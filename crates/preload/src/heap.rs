//! The malloc family: mimalloc, which takes its memory by the interposed `mmap`. The pager's own
//! heap serves the program until the library has started; while the pager thread starts, it serves
//! that thread and the one that starts it.

use crate::own::OWN;
use crate::state::uses_program_heap;
use libc::{c_int, c_void, size_t};
use libmimalloc_sys as mi;

/// The alignment in bytes that malloc guarantees on 64-bit machines.
const MALLOC_ALIGN: usize = 16;

/// Make mimalloc map 32 MiB at a time. With its default of 1 GiB, every program would outgrow its
/// allowance and need a pager thread.
pub fn take_small_arenas() {
    /// `mi_option_arena_reserve` of mimalloc 2, in KiB.
    const ARENA_RESERVE: mi::mi_option_t = 23;
    // SAFETY: sets an option, before the first allocation.
    unsafe { mi::mi_option_set(ARENA_RESERVE, 32 << 10) };
}

/// Whether to refuse an allocation of `size` bytes because the store and DRAM are full. The heap
/// still has mapped memory, from which small blocks are served, so that the program can report the
/// failure.
#[inline]
fn refused(size: size_t) -> bool {
    const SMALL: size_t = 4096;
    size > SMALL && crate::state::pager().is_some_and(|p| p.is_exhausted() && p.lock_managed().refuses())
}

/// Set errno to ENOMEM if `pointer` is null; returns `pointer`.
fn set_enomem_if_null(pointer: *mut c_void) -> *mut c_void {
    if pointer.is_null() {
        crate::raw::failed(libc::ENOMEM);
    }
    pointer
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn malloc(size: size_t) -> *mut c_void {
    if uses_program_heap() {
        if refused(size) {
            return set_enomem_if_null(std::ptr::null_mut());
        }
        // SAFETY: an allocation has no precondition.
        return set_enomem_if_null(unsafe { mi::mi_malloc(size) });
    }
    OWN.c_memalign(MALLOC_ALIGN, size).cast()
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn calloc(count: size_t, size: size_t) -> *mut c_void {
    if uses_program_heap() {
        if refused(count.saturating_mul(size)) {
            return set_enomem_if_null(std::ptr::null_mut());
        }
        // SAFETY: an allocation has no precondition.
        return set_enomem_if_null(unsafe { mi::mi_calloc(count, size) });
    }
    let Some(bytes) = count.checked_mul(size) else { return set_enomem_if_null(std::ptr::null_mut()) };
    let pointer = OWN.c_memalign(MALLOC_ALIGN, bytes);
    if !pointer.is_null() {
        // SAFETY: just allocated with this size.
        unsafe { std::ptr::write_bytes(pointer, 0, bytes) };
    }
    pointer.cast()
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn realloc(pointer: *mut c_void, size: size_t) -> *mut c_void {
    if pointer.is_null() {
        // SAFETY: an allocation has no precondition.
        return unsafe { malloc(size) };
    }
    if size == 0 {
        // As in the C library: the block is freed and the result is null.
        // SAFETY: guaranteed by the caller.
        unsafe { free(pointer) };
        return std::ptr::null_mut();
    }
    if OWN.holds(pointer.cast()) {
        // SAFETY: moves the block, to mimalloc if it serves this thread; both blocks have at least
        // the copied size.
        unsafe {
            let moved = malloc(size);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(pointer as *const u8, moved.cast(), size.min(OWN.usable(pointer.cast())));
                OWN.c_free(pointer.cast());
            }
            return moved;
        }
    }
    // SAFETY: the caller guarantees a block of this heap, and it is not from `OWN`, so it is
    // mimalloc's.
    if refused(size) && size > unsafe { mi::mi_usable_size(pointer) } {
        return set_enomem_if_null(std::ptr::null_mut());
    }
    // SAFETY: as above.
    set_enomem_if_null(unsafe { mi::mi_realloc(pointer, size) })
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn reallocarray(pointer: *mut c_void, count: size_t, size: size_t) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: guaranteed by the caller.
        Some(bytes) => unsafe { realloc(pointer, bytes) },
        None => set_enomem_if_null(std::ptr::null_mut()),
    }
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn free(pointer: *mut c_void) {
    // SAFETY: the caller guarantees a block of one of the two heaps.
    unsafe {
        if OWN.holds(pointer.cast()) {
            OWN.c_free(pointer.cast());
        } else {
            mi::mi_free(pointer);
        }
    }
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn memalign(align: size_t, size: size_t) -> *mut c_void {
    if uses_program_heap() {
        // SAFETY: an allocation has no precondition.
        return set_enomem_if_null(unsafe { mi::mi_malloc_aligned(size, align.next_power_of_two()) });
    }
    OWN.c_memalign(align.next_power_of_two(), size).cast()
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn aligned_alloc(align: size_t, size: size_t) -> *mut c_void {
    // SAFETY: an allocation has no precondition.
    unsafe { memalign(align, size) }
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: size_t, size: size_t) -> c_int {
    if !align.is_power_of_two() || align % size_of::<*mut c_void>() != 0 {
        return libc::EINVAL;
    }
    // SAFETY: the caller guarantees that `out` is valid.
    unsafe {
        let pointer = memalign(align, size);
        if pointer.is_null() {
            return libc::ENOMEM;
        }
        *out = pointer;
    }
    0
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn valloc(size: size_t) -> *mut c_void {
    // SAFETY: an allocation has no precondition.
    unsafe { memalign(swaplab_pager::kernel::PAGE, size) }
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn pvalloc(size: size_t) -> *mut c_void {
    match size.checked_next_multiple_of(swaplab_pager::kernel::PAGE) {
        // SAFETY: an allocation has no precondition.
        Some(size) => unsafe { memalign(swaplab_pager::kernel::PAGE, size) },
        None => set_enomem_if_null(std::ptr::null_mut()),
    }
}

/// # Safety
/// As for glibc's function.
#[no_mangle]
pub unsafe extern "C" fn malloc_usable_size(pointer: *mut c_void) -> size_t {
    if pointer.is_null() {
        return 0;
    }
    // SAFETY: the caller guarantees a block of one of the two heaps.
    unsafe {
        if OWN.holds(pointer.cast()) {
            OWN.usable(pointer.cast())
        } else {
            mi::mi_usable_size(pointer)
        }
    }
}
