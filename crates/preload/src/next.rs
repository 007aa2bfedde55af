//! Access to the C library's functions that this library interposes.

/// The C library's function of a name, looked up once.
macro_rules! next {
    ($name:literal, $type:ty) => {{
        static NEXT: std::sync::atomic::AtomicPtr<libc::c_void> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        let mut function = NEXT.load(std::sync::atomic::Ordering::Relaxed);
        if function.is_null() {
            // SAFETY: a name that ends with a zero.
            function = unsafe { libc::dlsym(libc::RTLD_NEXT, $name.as_ptr()) };
            NEXT.store(function, std::sync::atomic::Ordering::Relaxed);
        }
        // SAFETY: the C library has a function of that name and type.
        unsafe { std::mem::transmute::<*mut libc::c_void, $type>(function) }
    }};
}
