//! A program that gives up its rights may need a pager later, and could not start one then: it is started before.

use libc::{c_char, c_int, c_long, gid_t, size_t, uid_t};

/// The system call behind a function that changes rights, where the pager thread shall not be made to follow.
fn changed(number: c_long, arguments: [c_long; 3], follow: [c_long; 3]) -> Option<c_int> {
    let pager = crate::state::pager()?;
    crate::state::run(pager);
    pager.change_rights(number, arguments, follow).map(|result| result as c_int)
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
