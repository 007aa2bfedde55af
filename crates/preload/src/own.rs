//! The heap of the pager itself. It must not be in managed memory: a pager that waited for a page
//! that it is evicting would wait forever. So this library's global allocator is dlmalloc on a
//! separate address range, which is mapped by raw system calls.
//!
//! The program's first allocations, before the pager starts, are also served from this heap. `free`
//! recognizes them by the range.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use swaplab_pager::kernel::{self, memory};

/// Address space to reserve, in bytes, and the least amount if `ulimit -v` does not permit more. It
/// takes memory as it is used.
const MOST: usize = 4 << 30;
const LEAST: usize = 16 << 20;

static START: AtomicUsize = AtomicUsize::new(0);
static RANGE: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);

/// The reserved address space in bytes, which a program's own limit must not count.
pub fn taken() -> usize {
    RANGE.load(Ordering::Relaxed)
}

/// The reserved address range. Before it is reserved, no address is in it, not even null.
#[inline]
pub fn range() -> std::ops::Range<usize> {
    match START.load(Ordering::Relaxed) {
        0 => 0..0,
        start => start..start + taken(),
    }
}

/// Reserve as much address space as possible, at most an eighth of the limit. Returns its start and
/// size.
fn reserve() -> Option<(usize, usize)> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current.map_or(usize::MAX, |limit| limit as usize / 8);
    let sizes = std::iter::successors(Some(MOST), |size| Some(size / 2)).take_while(|size| *size >= LEAST);
    sizes.filter(|size| *size <= limit.max(LEAST)).find_map(|size| kernel::own::take_elsewhere(size).ok().map(|start| (start, size)))
}

/// Allocates consecutive parts of the range, and frees none.
struct Grow;

// SAFETY: each part of the range is allocated once.
unsafe impl dlmalloc::Allocator for Grow {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        const FAILED: (*mut u8, usize, u32) = (std::ptr::null_mut(), 0, 0);
        if START.load(Ordering::Relaxed) == 0 {
            let Some((start, size)) = reserve() else { return FAILED };
            RANGE.store(size, Ordering::Relaxed);
            START.store(start, Ordering::Release);
        }
        let at = USED.fetch_add(size, Ordering::Relaxed);
        if at + size > taken() {
            return FAILED;
        }
        let start = START.load(Ordering::Relaxed) + at;
        // SAFETY: reserved above, and unused so far.
        match unsafe { memory::protect(start..start + size, memory::READ_WRITE) } {
            Ok(()) => (start as *mut u8, size, 0),
            Err(_) => FAILED,
        }
    }
    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        std::ptr::null_mut()
    }
    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }
    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }
    fn can_release_part(&self, _: u32) -> bool {
        false
    }
    fn allocates_zeros(&self) -> bool {
        true
    }
    fn page_size(&self) -> usize {
        swaplab_pager::kernel::PAGE
    }
}

/// The heap, with a lock.
pub struct Own {
    locked: AtomicBool,
    heap: UnsafeCell<dlmalloc::Dlmalloc<Grow>>,
}

// SAFETY: the heap is only used while `locked` is set by the using thread.
unsafe impl Sync for Own {}

#[global_allocator]
pub static OWN: Own = Own { locked: AtomicBool::new(false), heap: UnsafeCell::new(dlmalloc::Dlmalloc::new_with_allocator(Grow)) };

impl Own {
    /// Lock the heap. A forking thread keeps it locked, so that the child's heap is consistent.
    pub fn lock(&self) {
        while self.locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            rustix::thread::sched_yield();
        }
    }

    pub fn unlock(&self) {
        self.locked.store(false, Ordering::Release);
    }

    fn with<T>(&self, work: impl FnOnce(&mut dlmalloc::Dlmalloc<Grow>) -> T) -> T {
        self.lock();
        // SAFETY: locked.
        let result = work(unsafe { &mut *self.heap.get() });
        self.unlock();
        result
    }

    /// Whether `pointer` is in this heap's range.
    pub fn holds(&self, pointer: *const u8) -> bool {
        range().contains(&(pointer as usize))
    }

    /// Allocate for C's `malloc` and `memalign`. A header before the block has the start of the
    /// allocation and the block's size.
    pub fn c_memalign(&self, align: usize, size: usize) -> *mut u8 {
        let align = align.max(HEADER);
        let Some(total) = size.checked_add(align) else { return std::ptr::null_mut() };
        // SAFETY: the header is within the first `align` bytes of the allocation.
        unsafe {
            let base = self.with(|heap| heap.c_memalign(align, total));
            if base.is_null() {
                return base;
            }
            let block = base.add(align);
            block.sub(HEADER).cast::<[usize; 2]>().write([base as usize, size]);
            block
        }
    }

    /// Free a block.
    ///
    /// # Safety
    /// `block` came from `c_memalign` and was not freed.
    pub unsafe fn c_free(&self, block: *mut u8) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let [base, _] = block.sub(HEADER).cast::<[usize; 2]>().read();
            self.with(|heap| heap.c_free(base as *mut u8));
        }
    }

    /// The size of a block.
    ///
    /// # Safety
    /// `block` came from `c_memalign` and was not freed.
    pub unsafe fn usable(&self, block: *mut u8) -> usize {
        // SAFETY: guaranteed by the caller.
        unsafe { block.sub(HEADER).cast::<[usize; 2]>().read()[1] }
    }
}

const HEADER: usize = size_of::<[usize; 2]>();

// SAFETY: dlmalloc satisfies the contract, and is called under the lock.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: an allocation has no precondition.
        self.with(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by GlobalAlloc's contract.
        self.with(|heap| unsafe { heap.free(pointer, layout.size(), layout.align()) })
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: an allocation has no precondition.
        self.with(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by GlobalAlloc's contract.
        self.with(|heap| unsafe { heap.realloc(pointer, layout.size(), layout.align(), size) })
    }
}
