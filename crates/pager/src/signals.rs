//! Signals wait while a thread of the program holds what a signal handler of it may want: `mmap`, `munmap` and `fork` are called there, too.

/// All signals of this thread wait until this is dropped.
pub struct Waiting(libc::sigset_t);

impl Waiting {
    pub fn all() -> Waiting {
        // SAFETY: changes this thread's mask; both sets are plain memory.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            Waiting(before)
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // SAFETY: the mask that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}
