//! Interposes `exec` and `posix_spawn` to detect programs into which no library can be preloaded.
//! For each, one line is printed; with `--unmanaged refuse` it is not started. After the start,
//! nothing could detect them. This code also runs between `fork` and `exec`, so it must not
//! allocate.

use crate::state::pager;
use libc::{c_char, c_int, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};
use std::ffi::CStr;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use swaplab_pager::program::{unreachable, Unreachable};

/// Whether such programs are started with a warning (`--unmanaged warn`).
pub static WARNS: AtomicBool = AtomicBool::new(false);

/// A line of text without an allocation. A longer text is truncated.
pub struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Line {
    pub fn new() -> Line {
        Line { bytes: [0; 512], len: 0 }
    }

    /// The line as a C string, if its only zero byte is the last one. That is not the case if the
    /// line was truncated.
    pub fn as_c_str(&self) -> Option<&CStr> {
        CStr::from_bytes_with_nul(&self.bytes[..self.len]).ok()
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let len = text.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        Ok(())
    }
}

/// Whether the program at `path` may start. If it cannot be managed, print a line.
fn may_start(path: *const c_char) -> bool {
    if path.is_null() || pager().is_none() {
        return true;
    }
    // SAFETY: the caller guarantees the path of a program.
    let path = unsafe { CStr::from_ptr(path) };
    let reason = match unreachable(path) {
        None | Some(Unreachable::NoProgram) => return true,
        Some(reason) => reason,
    };
    let warns = WARNS.load(Ordering::Relaxed);
    let what =
        if warns { "it runs unmanaged, on as much memory as it takes" } else { "not started; --unmanaged warn would start it unmanaged" };
    let mut line = Line::new();
    let _ = write!(line, "{}: {reason}: {what}", path.to_str().unwrap_or("a program"));
    swaplab_pager::say(std::str::from_utf8(&line.bytes[..line.len]).unwrap_or("a program that cannot be managed"));
    warns
}

/// [`may_start`] for a program that is searched in the PATH, in the same way as by the C library.
fn may_start_of_path(name: *const c_char) -> bool {
    const DEFAULT: &CStr = c"/bin:/usr/bin";
    // SAFETY: the caller guarantees the name of a program; the environment's text is only read.
    let (name, path) = unsafe {
        if name.is_null() || !libc::strchr(name, c_int::from(b'/')).is_null() {
            return may_start(name);
        }
        let path = libc::getenv(c"PATH".as_ptr());
        (CStr::from_ptr(name).to_bytes_with_nul(), if path.is_null() { DEFAULT } else { CStr::from_ptr(path) })
    };
    let mut buffer = [0; libc::PATH_MAX as usize];
    for directory in path.to_bytes().split(|byte| *byte == b':') {
        let directory = if directory.is_empty() { b"." } else { directory };
        let len = directory.len() + 1 + name.len();
        if len > buffer.len() {
            continue;
        }
        buffer[..directory.len()].copy_from_slice(directory);
        buffer[directory.len()] = b'/';
        buffer[directory.len() + 1..len].copy_from_slice(name);
        // SAFETY: a path that ends with a zero.
        if unsafe { libc::access(buffer.as_ptr().cast(), libc::X_OK) } == 0 {
            return may_start(buffer.as_ptr().cast());
        }
    }
    true
}

/// [`may_start`] for an open program.
fn may_start_open(file: c_int) -> bool {
    may_start_at(file, c"".as_ptr(), libc::AT_EMPTY_PATH)
}

/// [`may_start`] for `path` below an open directory. With `AT_EMPTY_PATH` and an empty path, the
/// descriptor is the program itself.
fn may_start_at(directory: c_int, path: *const c_char, flags: c_int) -> bool {
    // SAFETY: the caller guarantees a path.
    let below = if path.is_null() { c"" } else { unsafe { CStr::from_ptr(path) } };
    if below.to_bytes().starts_with(b"/") || (directory == libc::AT_FDCWD && !below.is_empty()) {
        return may_start(path);
    }
    if below.is_empty() && flags & libc::AT_EMPTY_PATH == 0 {
        return true; // The kernel refuses it.
    }
    let mut line = Line::new();
    let written = write!(line, "/proc/self/fd/{directory}");
    let rest = below.to_bytes_with_nul();
    let slash = usize::from(!below.is_empty());
    if written.is_err() || line.len + slash + rest.len() > line.bytes.len() {
        return true;
    }
    line.bytes[line.len..line.len + slash].fill(b'/');
    line.bytes[line.len + slash..line.len + slash + rest.len()].copy_from_slice(rest);
    may_start(line.bytes.as_ptr().cast())
}

type Texts = *const *const c_char;

/// Interposes C functions that start a program: if the check fails, return the refusal; otherwise
/// call the C library's function.
macro_rules! starts {
    ($($name:ident: $text:literal, $allowed:ident($($known:ident),+; $($argument:ident: $kind:ty),*) or $refusal:expr;)*) => {$(
        /// # Safety
        /// As for the C library's function.
        #[no_mangle]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            if !$allowed($($known),+) {
                return $refusal;
            }
            let function = next!($text, unsafe extern "C" fn($($kind),*) -> c_int);
            // SAFETY: guaranteed by the caller.
            unsafe { function($($argument),*) }
        }
    )*};
}

starts! {
    execve: c"execve", may_start(path; path: *const c_char, given: Texts, environment: Texts) or refused();
    execv: c"execv", may_start(path; path: *const c_char, given: Texts) or refused();
    execvp: c"execvp", may_start_of_path(name; name: *const c_char, given: Texts) or refused();
    execvpe: c"execvpe", may_start_of_path(name; name: *const c_char, given: Texts, environment: Texts) or refused();
    fexecve: c"fexecve", may_start_open(file; file: c_int, given: Texts, environment: Texts) or refused();
    execveat: c"execveat", may_start_at(directory, path, flags; directory: c_int, path: *const c_char, given: Texts, environment: Texts,
        flags: c_int) or refused();
    posix_spawn: c"posix_spawn", may_start(path; child: *mut pid_t, path: *const c_char, actions: *const posix_spawn_file_actions_t,
        attributes: *const posix_spawnattr_t, given: Texts, environment: Texts) or libc::EACCES;
    posix_spawnp: c"posix_spawnp", may_start_of_path(name; child: *mut pid_t, name: *const c_char,
        actions: *const posix_spawn_file_actions_t, attributes: *const posix_spawnattr_t, given: Texts, environment: Texts) or libc::EACCES;
}

fn refused() -> c_int {
    crate::raw::failed(libc::EACCES) as c_int
}
