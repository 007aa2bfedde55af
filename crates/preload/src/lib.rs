//! `swaplab run` preloads this library: the program's malloc and private anonymous mmap become managed memory of a
//! [`Pager`] that starts before `main`. Configured by environment variables, which children inherit, so that a program
//! run by the program is paged too, on a budget of its own.

#[macro_use]
mod next;
#[macro_use]
mod raw;
mod dispatch;
mod exec;
mod heap;
mod limits;
mod loader;
mod locks;
mod maps;
mod objects;
mod own;
mod rights;
mod settings;
mod signals;

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use swaplab_pager::kernel::Missing;
use swaplab_pager::{ForkGuard, Pager};

/// The program's memory comes from its own heap, and not from the pager's: always but while something is started.
static READY: AtomicBool = AtomicBool::new(false);
/// The pager thread, or 0: it must not get managed memory.
static THREAD: AtomicUsize = AtomicUsize::new(0);
/// The same, if a compressor in C allocates there.
static COMPRESSOR: AtomicUsize = AtomicUsize::new(0);
static PAGER: AtomicPtr<Pager> = AtomicPtr::new(std::ptr::null_mut());

fn pager() -> Option<&'static Pager> {
    // SAFETY: null, or a pager that was leaked at the start.
    unsafe { PAGER.load(Ordering::Acquire).as_ref() }
}

/// Before every other constructor of this library.
#[used]
#[link_section = ".init_array.00101"]
static AT_START: extern "C" fn() = start;
#[used]
#[link_section = ".fini_array"]
static AT_END: extern "C" fn() = end;

extern "C" fn start() {
    match settings::start_pager() {
        Ok(Some(pager)) => {
            // SAFETY: plain functions, registered once, before the program's own.
            unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
            heap::take_small_arenas();
            PAGER.store(Box::into_raw(Box::new(pager)), Ordering::Release);
            dispatch::start();
        }
        Ok(None) => (),
        Err(missing) => not_paged(&missing),
    }
    READY.store(true, Ordering::Release);
}

/// Whether this is the pager thread, as `known` has it.
#[inline]
fn is_pager(known: &AtomicUsize) -> bool {
    let pager = known.load(Ordering::Relaxed);
    // SAFETY: asks who runs.
    pager != 0 && pager == unsafe { libc::pthread_self() } as usize
}

fn not_paged(missing: &Missing) {
    let text = format!("swaplab: this process is not paged: {missing}\n");
    let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
}

/// Start the pager thread, if it does not run yet.
fn run(pager: &Pager) {
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

extern "C" fn end() {
    if let Some(pager) = pager() {
        pager.finish();
    }
}

/// The guard of the fork under way: taken, used and given back by the thread that forks, while it holds the world's lock.
struct Fork(UnsafeCell<Option<ForkGuard<'static>>>);
// SAFETY: see above.
unsafe impl Sync for Fork {}
static FORK: Fork = Fork(UnsafeCell::new(None));

unsafe extern "C" fn before_fork() {
    let guard = pager().map(|p| p.before_fork());
    own::OWN.lock();
    // SAFETY: this thread has the lock that guards the cell.
    unsafe { *FORK.0.get() = guard };
}

fn taken() -> Option<ForkGuard<'static>> {
    // SAFETY: as in `before_fork`.
    let guard = unsafe { (*FORK.0.get()).take() };
    own::OWN.unlock();
    guard
}

unsafe extern "C" fn in_parent() {
    if let (Some(guard), Some(pager)) = (taken(), pager()) {
        pager.after_fork_in_parent(guard);
    }
}

unsafe extern "C" fn in_child() {
    READY.store(true, Ordering::Release); // another thread may have been starting the pager
    if let (Some(guard), Some(pager)) = (taken(), pager()) {
        pager.after_fork_in_child(guard);
    }
}
