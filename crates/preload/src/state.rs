//! The library's state: the process's pager, and which heap serves an allocation.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use swaplab_pager::kernel::Missing;
use swaplab_pager::Pager;

/// Whether allocations are served from the program's heap; otherwise from the pager's, while the
/// library or the pager thread starts.
pub static READY: AtomicBool = AtomicBool::new(false);
/// The `pthread_t` of the pager thread, or 0. That thread must not get managed memory.
pub static THREAD: AtomicUsize = AtomicUsize::new(0);
/// The same as `THREAD` if the pager thread runs a compressor in C, which calls malloc;
/// otherwise 0.
pub static COMPRESSOR: AtomicUsize = AtomicUsize::new(0);
static PAGER: AtomicPtr<Pager> = AtomicPtr::new(std::ptr::null_mut());

/// The process's pager, if it is managed.
pub fn pager() -> Option<&'static Pager> {
    // SAFETY: null, or a pager that is never freed.
    unsafe { PAGER.load(Ordering::Acquire).as_ref() }
}

/// Set the process's pager.
pub fn set_pager(pager: Pager) {
    PAGER.store(Box::into_raw(Box::new(pager)), Ordering::Release);
}

/// Whether the calling thread is the one in `thread`, which is [`THREAD`] or [`COMPRESSOR`].
#[inline]
pub fn is_pager(thread: &AtomicUsize) -> bool {
    let pager = thread.load(Ordering::Relaxed);
    // SAFETY: only reads this thread's identity.
    pager != 0 && pager == unsafe { libc::pthread_self() } as usize
}

/// Print the reason why this process has no pager or pager thread.
pub fn not_paged(missing: &Missing) {
    let text = format!("swaplab: this process is not paged: {missing}\n");
    let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
}

/// The program's own allocator had memory before this library started. Such an allocator may map
/// memory while it holds its lock, and starting a thread allocates. So the pager thread is started
/// where the program is not in its allocator.
pub static OWN_ALLOCATOR: AtomicBool = AtomicBool::new(false);

/// Start the pager thread, if the program has outgrown its allowance. Called after memory was
/// mapped.
pub fn run_if_outgrown(pager: &Pager) {
    if pager.needs_pager_thread() && !OWN_ALLOCATOR.load(Ordering::Relaxed) {
        run(pager);
    }
}

/// The pager of a program with [`OWN_ALLOCATOR`], which is not in its allocator now.
#[inline]
fn outside_allocator() -> Option<&'static Pager> {
    (OWN_ALLOCATOR.load(Ordering::Relaxed) && READY.load(Ordering::Relaxed)).then(pager).flatten()
}

/// As [`run_if_outgrown`] for a program with [`OWN_ALLOCATOR`]. Called where the program opens a
/// file.
#[inline]
pub fn run_late() {
    outside_allocator().filter(|pager| pager.needs_pager_thread()).into_iter().for_each(run);
}

/// Start the pager thread of a program with [`OWN_ALLOCATOR`] before it starts its first thread. A
/// program that must have no other thread (Chromium's zygote) starts none.
pub fn run_before_a_thread() {
    outside_allocator().into_iter().for_each(run);
}

/// Start the pager thread, if it does not run yet.
pub fn run(pager: &Pager) {
    if !pager.lock_world().can_start_thread() {
        return;
    }
    // Do not wait for a start in progress: it may be this thread's own, as the C library calls the
    // program's malloc when a thread starts.
    static STARTING: AtomicBool = AtomicBool::new(false);
    if STARTING.swap(true, Ordering::AcqRel) {
        return;
    }
    // The caller may be inside the program's heap, and starting a thread allocates: use the pager's
    // heap meanwhile.
    READY.store(false, Ordering::Release);
    if let Err(missing) = pager.run() {
        not_paged(&missing);
    }
    READY.store(true, Ordering::Release);
    STARTING.store(false, Ordering::Release);
}
