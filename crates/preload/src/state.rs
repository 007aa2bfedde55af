//! The library's state: the process's pager, and which heap serves an allocation.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use swaplab_pager::kernel::Missing;
use swaplab_pager::Pager;

/// The threads whose allocations the program's heap serves; the pager's own heap serves the others.
static SERVED: AtomicU8 = AtomicU8::new(NONE);
/// None, while the library starts.
const NONE: u8 = 0;
const ALL: u8 = 1;
/// All but the pager thread and the thread that starts it.
const OTHERS: u8 = 2;
/// All, of a forked child that is not paged yet.
const CHILDS: u8 = 3;
/// Calls of this library's heap that a forked child may make before it is paged. One that calls
/// exec makes few.
const CALLS_OF_A_CHILD: usize = 100;
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// The `pthread_t` of the pager thread, or 0. That thread must not get managed memory.
pub static THREAD: AtomicUsize = AtomicUsize::new(0);
/// The `pthread_t` of the thread that starts the pager thread, or 0.
static STARTER: AtomicUsize = AtomicUsize::new(0);
/// Whether the pager thread runs a compressor in C, which calls malloc.
pub static COMPRESSES: AtomicBool = AtomicBool::new(false);
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

/// Whether the calling thread is the one in `thread`, which is [`THREAD`] or `STARTER`.
#[inline]
fn is_in(thread: &AtomicUsize) -> bool {
    let thread = thread.load(Ordering::Relaxed);
    thread != 0 && thread == this_thread()
}

#[inline]
fn this_thread() -> usize {
    // SAFETY: only reads this thread's identity.
    unsafe { libc::pthread_self() as usize }
}

/// Whether the calling thread is the pager thread.
#[inline]
pub fn is_pager() -> bool {
    is_in(&THREAD)
}

/// Whether the program's heap serves the calling thread.
#[inline]
pub fn uses_program_heap() -> bool {
    match SERVED.load(Ordering::Relaxed) {
        ALL => true,
        NONE => false,
        CHILDS => count_call(),
        _ => !is_in(&STARTER) && !is_pager(),
    }
}

/// Count a call of a forked child, and start its pager thread if it goes on to use its memory.
/// Returns true.
#[cold]
fn count_call() -> bool {
    if CALLS.fetch_add(1, Ordering::Relaxed) == CALLS_OF_A_CHILD {
        SERVED.store(ALL, Ordering::Release);
        pager().into_iter().for_each(run_if_outgrown);
    }
    true
}

/// Note that this is a forked child, of which `pager` has outgrown its budget already. Where it
/// only uses the memory that it has, it would not be paged otherwise.
pub fn watch_child(pager: &Pager) {
    if pager.needs_pager_thread() {
        CALLS.store(0, Ordering::Relaxed);
        SERVED.store(CHILDS, Ordering::Release);
    }
}

/// Serve all threads from the program's heap: the library has started, or this is a new child
/// process. It has no pager thread, and no thread that starts one.
pub fn serve_all() {
    STARTER.store(0, Ordering::Relaxed);
    THREAD.store(0, Ordering::Relaxed);
    SERVED.store(ALL, Ordering::Release);
}

/// Print the reason why this process has no pager or pager thread.
pub fn not_paged(missing: &Missing) {
    let text = format!("swaplab: this process is not paged: {missing}\n");
    let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
}

/// The program's own allocator had memory before this library started. Such an allocator may map
/// memory while it holds its lock, and starting a thread allocates. So the pager thread is started
/// where the program is not in its allocator, unless it needs no allocation.
pub static OWN_ALLOCATOR: AtomicBool = AtomicBool::new(false);
/// The C library keeps a stack and thread-local storage for the pager thread.
pub static KEPT_STACK: AtomicBool = AtomicBool::new(false);

/// Whether the program's allocator serves the start of the pager thread.
fn start_allocates() -> bool {
    OWN_ALLOCATOR.load(Ordering::Relaxed) && (COMPRESSES.load(Ordering::Relaxed) || !KEPT_STACK.load(Ordering::Relaxed))
}

/// Start the pager thread, if the program has outgrown its allowance. Called after memory was
/// mapped.
pub fn run_if_outgrown(pager: &Pager) {
    if pager.needs_pager_thread() && !start_allocates() {
        run(pager);
    }
}

/// The pager of a program with [`OWN_ALLOCATOR`], which is not in its allocator now.
#[inline]
fn outside_allocator() -> Option<&'static Pager> {
    (OWN_ALLOCATOR.load(Ordering::Relaxed) && uses_program_heap()).then(pager).flatten()
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
    if !pager.lock_managed().can_start_thread() {
        return;
    }
    // Do not wait for a start in progress: it may be this thread's own, as the C library calls the
    // program's malloc when a thread starts.
    if STARTER.compare_exchange(0, this_thread(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    // This thread may be inside the program's heap, and starting a thread allocates. The pager
    // thread must not make the heap grow: what it maps is not managed.
    SERVED.store(OTHERS, Ordering::Release);
    if let Err(missing) = pager.run() {
        not_paged(&missing);
    }
    SERVED.store(if COMPRESSES.load(Ordering::Relaxed) { OTHERS } else { ALL }, Ordering::Release);
    STARTER.store(0, Ordering::Release);
}
