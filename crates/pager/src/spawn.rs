//! Starts the pager thread without the lock of loaded libraries.
//!
//! The loader holds this lock while the constructors of a `dlopen`ed library run. A constructor may
//! allocate so much that the pager thread must start, and then wait for it. So neither the pager
//! thread nor its starter may need the lock: they have no thread-local variable with a destructor,
//! which the C library registers under it. `std::thread` and a channel that waits have such
//! variables.
//!
//! The C library ends the process when its last thread ends, and counts the pager thread like one
//! of the program's. A program whose main thread ends before others would never end. So the pager
//! thread takes itself out of that count while it runs.

use crate::kernel::memory::{self, READ_WRITE};
use crate::kernel::{own, PAGE};
use std::ffi::{c_void, CStr};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};

/// Bytes of the stack, as `std::thread` reserves them.
const STACK: usize = 2 << 20;

/// Whether the C library keeps a stack for the thread.
static KEEPS_STACK: AtomicBool = AtomicBool::new(false);

/// A running thread.
pub struct Thread {
    thread: libc::pthread_t,
    stack: Option<Stack>,
}

type Body = Box<dyn FnOnce() + Send>;

/// The C library's count of threads, or null. glibc has it for debuggers (`libthread_db`).
static COUNT: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

/// Find the C library's count of threads. This takes the lock of loaded libraries, so it is done
/// once, before there is a thread to wait for.
pub fn find_count() {
    // SAFETY: looks up a name. glibc's variable is an aligned `unsigned int` that it changes
    // atomically, and it is never unloaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__nptl_nthreads".as_ptr()) };
    COUNT.store(found.cast(), Ordering::Release);
}

/// The time in which this thread does not count as one of the program's.
struct Uncounted(Option<&'static AtomicU32>);

impl Uncounted {
    fn begin() -> Uncounted {
        // SAFETY: null, or found by `find_count`.
        let count = unsafe { COUNT.load(Ordering::Acquire).as_ref() };
        if let Some(count) = count {
            count.fetch_sub(1, Ordering::AcqRel);
        }
        Uncounted(count)
    }
}

impl Drop for Uncounted {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// A stack in the pager's own address space, above a page without access.
struct Stack(usize);

impl Stack {
    fn new() -> rustix::io::Result<Stack> {
        let start = own::take(PAGE + STACK)?;
        // SAFETY: taken on the line above.
        unsafe { memory::protect(start + PAGE..start + PAGE + STACK, READ_WRITE) }.map(|()| Stack(start))
    }

    /// # Safety
    /// This process has no thread on it.
    unsafe fn give_back(self) {
        // SAFETY: guaranteed by the caller.
        let _ = unsafe { own::give_back(self.0..self.0 + PAGE + STACK) };
    }
}

extern "C" fn begin(body: *mut c_void) -> *mut c_void {
    // SAFETY: boxed in `spawn`, for this thread only.
    let body = *unsafe { Box::from_raw(body.cast::<Body>()) };
    body();
    std::ptr::null_mut()
}

impl Thread {
    /// Start a thread that runs `body`.
    pub fn spawn(name: &'static CStr, body: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
        let named = move || {
            // A thread without its name works as well.
            let _ = rustix::thread::set_name(name);
            let _uncounted = Uncounted::begin();
            body();
        };
        let stack = if KEEPS_STACK.load(Ordering::Relaxed) { None } else { Some(Stack::new()?) };
        let body: *mut Body = Box::into_raw(Box::new(Box::new(named)));
        // SAFETY: the attributes are initialized before use; `begin` gets what it expects.
        let (thread, error) = unsafe {
            let (mut thread, mut attributes) = (std::mem::zeroed(), std::mem::zeroed());
            libc::pthread_attr_init(&mut attributes);
            match &stack {
                Some(Stack(start)) => libc::pthread_attr_setstack(&mut attributes, (start + PAGE) as *mut c_void, STACK),
                None => libc::pthread_attr_setstacksize(&mut attributes, STACK),
            };
            let error = libc::pthread_create(&mut thread, &attributes, begin, body.cast());
            libc::pthread_attr_destroy(&mut attributes);
            (thread, error)
        };
        if error == 0 {
            return Ok(Thread { thread, stack });
        }
        // SAFETY: no thread was created that could use it.
        drop(unsafe { Box::from_raw(body) });
        Err(io::Error::from_raw_os_error(error))
    }

    /// Start a thread that ends at once. The C library keeps its stack and its thread-local storage
    /// for the next thread of this kind, which then starts without an allocation. Returns whether
    /// it ran.
    pub fn keep_a_stack() -> bool {
        KEEPS_STACK.store(true, Ordering::Relaxed);
        Thread::spawn(c"swaplab-pager", || ()).map(Thread::join).is_ok()
    }

    /// Wait for the end of the thread.
    pub fn join(self) {
        // SAFETY: a thread is joined once, as this consumes it.
        unsafe { libc::pthread_join(self.thread, std::ptr::null_mut()) };
        // SAFETY: it has ended.
        unsafe { self.give_back_stack() };
    }

    /// Give back the thread's stack.
    ///
    /// # Safety
    /// This process does not have the thread (any more).
    pub unsafe fn give_back_stack(self) {
        // SAFETY: guaranteed by the caller.
        self.stack.into_iter().for_each(|stack| unsafe { stack.give_back() });
    }
}

/// A value that one thread waits for and another one gives.
pub struct Answer<T> {
    value: Mutex<Option<T>>,
    given: Condvar,
}

impl<T> Answer<T> {
    pub fn new() -> Answer<T> {
        Answer { value: Mutex::new(None), given: Condvar::new() }
    }

    pub fn give(&self, value: T) {
        *self.value.lock().unwrap_or_else(|e| e.into_inner()) = Some(value);
        self.given.notify_one();
    }

    pub fn wait(&self) -> T {
        let mut value = self.value.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            if let Some(value) = value.take() {
                return value;
            }
            value = self.given.wait(value).unwrap_or_else(|e| e.into_inner());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_thread_runs_its_body_under_its_name_and_answers() {
        let answer = Arc::new(Answer::new());
        let given = answer.clone();
        let thread = Thread::spawn(c"named", move || given.give(std::fs::read_to_string("/proc/thread-self/comm").unwrap())).unwrap();
        assert_eq!(answer.wait(), "named\n");
        thread.join();
        assert_eq!(Arc::strong_count(&answer), 1);
    }
}
