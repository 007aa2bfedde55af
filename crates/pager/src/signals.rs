//! Blocks signals while a thread of the program holds the lock of managed memory: a signal handler
//! may call `mmap`, `munmap` or `fork`, which take the same lock.

/// All signals of this thread are blocked until this is dropped. It holds the previous signal mask.
pub struct Blocked(libc::sigset_t);

impl Blocked {
    pub fn all() -> Blocked {
        // SAFETY: changes this thread's mask; both sets are plain memory.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            Blocked(before)
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: restores the mask that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}
