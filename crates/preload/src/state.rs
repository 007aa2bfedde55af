//! What the library knows of its process: the pager, once it has started, and whose memory the pager's own threads use.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use swaplab_pager::kernel::Missing;
use swaplab_pager::Pager;

/// The program's memory comes from its own heap, and not from the pager's: always but while something is started.
pub static READY: AtomicBool = AtomicBool::new(false);
/// The pager thread, or 0: it must not get managed memory.
pub static THREAD: AtomicUsize = AtomicUsize::new(0);
/// The same, if a compressor in C allocates there.
pub static COMPRESSOR: AtomicUsize = AtomicUsize::new(0);
static PAGER: AtomicPtr<Pager> = AtomicPtr::new(std::ptr::null_mut());

pub fn pager() -> Option<&'static Pager> {
    // SAFETY: null, or a pager that was leaked at the start.
    unsafe { PAGER.load(Ordering::Acquire).as_ref() }
}

/// From here on the process is `pager`'s.
pub fn set_pager(pager: Pager) {
    PAGER.store(Box::into_raw(Box::new(pager)), Ordering::Release);
}

/// Whether this is the pager thread, as `known` has it.
#[inline]
pub fn is_pager(known: &AtomicUsize) -> bool {
    let pager = known.load(Ordering::Relaxed);
    // SAFETY: asks who runs.
    pager != 0 && pager == unsafe { libc::pthread_self() } as usize
}

pub fn not_paged(missing: &Missing) {
    let text = format!("swaplab: this process is not paged: {missing}\n");
    let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
}

/// Start the pager thread, if it does not run yet.
pub fn run(pager: &Pager) {
    if !pager.world().unpaged() {
        return;
    }
    // Not waited for: a program's own malloc, which the C library calls as the thread starts, asks for memory in the middle of it.
    static STARTING: AtomicBool = AtomicBool::new(false);
    if STARTING.swap(true, Ordering::AcqRel) {
        return;
    }
    // Whoever allocated is in the middle of that, and a new thread allocates, too: from the pager's heap.
    READY.store(false, Ordering::Release);
    if let Err(missing) = pager.run() {
        not_paged(&missing);
    }
    READY.store(true, Ordering::Release);
    STARTING.store(false, Ordering::Release);
}
