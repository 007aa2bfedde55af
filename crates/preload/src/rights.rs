//! Interposes functions that change credentials. A program that drops its privileges could not
//! start a pager thread later, so it is started before. A program that it then executes as another
//! user could neither create its counters' file in the run's directory nor open a userfaultfd. So
//! that user gets a subdirectory, and the program inherits an open descriptor of the userfaultfd
//! device.

use crate::exec::Line;
use crate::settings::STATS;
use libc::{c_char, c_int, c_long, gid_t, size_t, uid_t};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Make the system call of a function that changes credentials, in this thread only; the pager
/// thread repeats it with `follow`. `None` if the C library's function has to be called instead.
fn change_rights(number: c_long, arguments: [c_long; 3], follow: [c_long; 3]) -> Option<c_int> {
    let pager = crate::state::pager()?;
    crate::state::run(pager);
    if matches!(number, libc::SYS_setuid | libc::SYS_setreuid | libc::SYS_setresuid) {
        arguments.iter().for_each(|user| make_counter_directory(*user));
        keep_device_open(&arguments);
    }
    pager.change_rights(number, arguments, follow).map(|result| result as c_int)
}

/// Create the directory for the counters of programs of `user`, if that is not root. Runs between
/// fork and exec, so it must not allocate. A failure is reported when such a program starts.
fn make_counter_directory(user: c_long) {
    // SAFETY: reads the user id, and the environment's text.
    let directory = unsafe {
        if user <= 0 || libc::geteuid() != 0 {
            return;
        }
        libc::getenv(STATS.as_ptr())
    };
    if directory.is_null() {
        return;
    }
    let mut path = Line::new();
    // SAFETY: a text that ends with a zero.
    let directory = unsafe { std::ffi::CStr::from_ptr(directory) };
    let written = directory.to_str().is_ok_and(|text| write!(path, "{text}/user-{user}\0").is_ok());
    let Some(path) = written.then(|| path.as_c_str()).flatten() else { return };
    // SAFETY: a path that ends with a zero. A directory that exists has its owner already, as only
    // root creates them.
    unsafe {
        if libc::mkdir(path.as_ptr(), 0o700) == 0 {
            libc::lchown(path.as_ptr(), user as uid_t, gid_t::MAX);
        }
    }
}

/// Open the userfaultfd device, once, for programs that are executed after root's privileges are
/// dropped. They inherit the descriptor.
fn keep_device_open(users: &[c_long; 3]) {
    static OPEN: AtomicBool = AtomicBool::new(false);
    // SAFETY: only reads the user id.
    if users.iter().any(|user| *user > 0) && unsafe { libc::geteuid() } == 0 && !OPEN.swap(true, Ordering::Relaxed) {
        // SAFETY: a path that ends with a zero. Programs rarely use descriptors from 100 on. A
        // failure is reported when a program starts.
        unsafe {
            let device = libc::open(swaplab_pager::kernel::uffd::DEVICE.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if device >= 0 {
                libc::fcntl(device, libc::F_DUPFD, 100);
                libc::close(device);
            }
        }
    }
}

/// The id that `setresuid` and `setresgid` leave unchanged.
const SAME: c_long = -1;

/// Interposes C functions that change credentials.
macro_rules! rights {
    ($($name:ident: $text:literal, fn($($argument:ident: $kind:ty),*), $number:ident [$($given:expr),*];)*) => {$(
        /// # Safety
        /// As for the system call.
        #[no_mangle]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            change_rights(libc::$number, [$($given),*], [$($given),*]).unwrap_or_else(|| {
                let function = next!($text, unsafe extern "C" fn($($kind),*) -> c_int);
                // SAFETY: guaranteed by the caller.
                unsafe { function($($argument),*) }
            })
        }
    )*};
}

rights! {
    setuid: c"setuid", fn(user: uid_t), SYS_setuid [user.into(), 0, 0];
    setgid: c"setgid", fn(group: gid_t), SYS_setgid [group.into(), 0, 0];
    seteuid: c"seteuid", fn(user: uid_t), SYS_setresuid [SAME, user.into(), SAME];
    setegid: c"setegid", fn(group: gid_t), SYS_setresgid [SAME, group.into(), SAME];
    setreuid: c"setreuid", fn(real: uid_t, effective: uid_t), SYS_setreuid [real.into(), effective.into(), 0];
    setregid: c"setregid", fn(real: gid_t, effective: gid_t), SYS_setregid [real.into(), effective.into(), 0];
    setresuid: c"setresuid", fn(real: uid_t, effective: uid_t, saved: uid_t), SYS_setresuid [real.into(), effective.into(), saved.into()];
    setresgid: c"setresgid", fn(real: gid_t, effective: gid_t, saved: gid_t), SYS_setresgid [real.into(), effective.into(), saved.into()];
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn setgroups(count: size_t, groups: *const gid_t) -> c_int {
    // The caller's list may be freed before the pager thread reads it, so the pager thread drops
    // all its groups.
    let arguments = [count as c_long, groups as c_long, 0];
    change_rights(libc::SYS_setgroups, arguments, [0; 3]).unwrap_or_else(|| {
        let function = next!(c"setgroups", unsafe extern "C" fn(size_t, *const gid_t) -> c_int);
        // SAFETY: guaranteed by the caller.
        unsafe { function(count, groups) }
    })
}

/// # Safety
/// As for the system call.
#[no_mangle]
pub unsafe extern "C" fn chroot(path: *const c_char) -> c_int {
    if let Some(pager) = crate::state::pager() {
        crate::state::run(pager);
    }
    let function = next!(c"chroot", unsafe extern "C" fn(*const c_char) -> c_int);
    // SAFETY: guaranteed by the caller.
    unsafe { function(path) }
}
