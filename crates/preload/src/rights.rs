//! A program that gives up its rights may need a pager later, and could not start one then: it is started before. A program that it then
//! starts as another user could not write its counters beside those of the others, nor have a userfaultfd: that user gets a directory of its
//! own there, and the device's open descriptor.

use crate::exec::Line;
use crate::settings::STATS;
use libc::{c_char, c_int, c_long, gid_t, size_t, uid_t};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system call behind a function that changes rights, where the pager thread shall not be made to follow.
fn changed(number: c_long, arguments: [c_long; 3], follow: [c_long; 3]) -> Option<c_int> {
    let pager = crate::state::pager()?;
    crate::state::run(pager);
    if matches!(number, libc::SYS_setuid | libc::SYS_setreuid | libc::SYS_setresuid) {
        arguments.iter().for_each(|user| make_room_for(*user));
        keep_device_open(&arguments);
    }
    pager.change_rights(number, arguments, follow).map(|result| result as c_int)
}

/// Make the directory in which `user`, another one than root, may put counters of programs. May run between fork and exec: nothing is
/// allocated. What fails is told when such a program starts.
fn make_room_for(user: c_long) {
    // SAFETY: this process's own user, and the text of its environment, which is only read.
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
    let Some(path) = written.then(|| path.as_text()).flatten() else { return };
    // SAFETY: a path that ends with a zero. A directory that is there is its owner's already: only root makes them.
    unsafe {
        if libc::mkdir(path.as_ptr(), 0o700) == 0 {
            libc::lchown(path.as_ptr(), user as uid_t, gid_t::MAX);
        }
    }
}

/// Open the device that gives a userfaultfd once, for programs that are started by an exec after root's rights are gone. They hold it open.
fn keep_device_open(users: &[c_long; 3]) {
    static OPEN: AtomicBool = AtomicBool::new(false);
    // SAFETY: this process's own user.
    if users.iter().any(|user| *user > 0) && unsafe { libc::geteuid() } == 0 && !OPEN.swap(true, Ordering::Relaxed) {
        // SAFETY: a path that ends with a zero. A descriptor from 100 on is in nobody's way; where there is none, that is told later.
        unsafe {
            let device = libc::open(swaplab_pager::kernel::uffd::DEVICE.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if device >= 0 {
                libc::fcntl(device, libc::F_DUPFD, 100);
                libc::close(device);
            }
        }
    }
}

/// "As it is", for `setresuid` and its like.
const SAME: c_long = -1;

macro_rules! rights {
    ($($name:ident: $text:literal, fn($($argument:ident: $kind:ty),*), $number:ident [$($given:expr),*];)*) => {$(
        /// # Safety
        /// As the system call's.
        #[no_mangle]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            changed(libc::$number, [$($given),*], [$($given),*]).unwrap_or_else(|| {
                let function = next!($text, unsafe extern "C" fn($($kind),*) -> c_int);
                // SAFETY: by the caller's promise.
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
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn setgroups(count: size_t, groups: *const gid_t) -> c_int {
    // The list is the caller's, and gone when the pager thread could read it: that has no group of these at all.
    let given = [count as c_long, groups as c_long, 0];
    changed(libc::SYS_setgroups, given, [0; 3]).unwrap_or_else(|| {
        let function = next!(c"setgroups", unsafe extern "C" fn(size_t, *const gid_t) -> c_int);
        // SAFETY: by the caller's promise.
        unsafe { function(count, groups) }
    })
}

/// # Safety
/// As the system call's.
#[no_mangle]
pub unsafe extern "C" fn chroot(path: *const c_char) -> c_int {
    if let Some(pager) = crate::state::pager() {
        crate::state::run(pager);
    }
    let function = next!(c"chroot", unsafe extern "C" fn(*const c_char) -> c_int);
    // SAFETY: by the caller's promise.
    unsafe { function(path) }
}
