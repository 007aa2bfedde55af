//! Programs that this one starts and into which nothing can be preloaded: one line tells of each, and by `--unmanaged refuse` it does
//! not start. This is the last place that knows of them. Between `fork` and `exec` nothing may be allocated.

use crate::state::pager;
use libc::{c_char, c_int, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};
use std::ffi::CStr;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use swaplab_pager::program::{unreachable, Unreachable};

/// Whether such programs run all the same.
pub static WARNS: AtomicBool = AtomicBool::new(false);

/// A line of text in place.
pub struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Line {
    pub fn new() -> Line {
        Line { bytes: [0; 512], len: 0 }
    }

    /// It as C's text, if it ends with the only zero in it: one that was too long does not.
    pub fn as_text(&self) -> Option<&CStr> {
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

/// Whether the program at `path` may start.
fn may_start(path: *const c_char) -> bool {
    if path.is_null() || pager().is_none() {
        return true;
    }
    // SAFETY: by the caller's promise, the path of a program.
    let path = unsafe { CStr::from_ptr(path) };
    let why = match unreachable(path) {
        None | Some(Unreachable::NoProgram) => return true,
        Some(why) => why,
    };
    let warns = WARNS.load(Ordering::Relaxed);
    let what = if warns { "it runs unmanaged, on as much memory as it takes" } else { "not started (--unmanaged warn would)" };
    let mut line = Line::new();
    let _ = write!(line, "{}: {why}: {what}", path.to_str().unwrap_or("a program"));
    swaplab_pager::say(std::str::from_utf8(&line.bytes[..line.len]).unwrap_or("a program that cannot be managed"));
    warns
}

/// The same of a program that is looked for on the PATH, as the C library does it.
fn may_start_of_path(name: *const c_char) -> bool {
    const DEFAULT: &CStr = c"/bin:/usr/bin";
    // SAFETY: by the caller's promise, a program's name; the environment's text is only read.
    let (name, path) = unsafe {
        if name.is_null() || !libc::strchr(name, c_int::from(b'/')).is_null() {
            return may_start(name);
        }
        let path = libc::getenv(c"PATH".as_ptr());
        (CStr::from_ptr(name).to_bytes_with_nul(), if path.is_null() { DEFAULT } else { CStr::from_ptr(path) })
    };
    let mut room = [0; libc::PATH_MAX as usize];
    for directory in path.to_bytes().split(|byte| *byte == b':') {
        let directory = if directory.is_empty() { b"." } else { directory };
        let len = directory.len() + 1 + name.len();
        if len > room.len() {
            continue;
        }
        room[..directory.len()].copy_from_slice(directory);
        room[directory.len()] = b'/';
        room[directory.len() + 1..len].copy_from_slice(name);
        // SAFETY: a path that ends with a zero.
        if unsafe { libc::access(room.as_ptr().cast(), libc::X_OK) } == 0 {
            return may_start(room.as_ptr().cast());
        }
    }
    true
}

/// The same of a program by its descriptor.
fn may_start_open(file: c_int) -> bool {
    may_start_at(file, c"".as_ptr(), libc::AT_EMPTY_PATH)
}

/// The same of `path` below an open directory; with `AT_EMPTY_PATH` the descriptor may be the program itself.
fn may_start_at(directory: c_int, path: *const c_char, flags: c_int) -> bool {
    // SAFETY: by the caller's promise, a path.
    let below = if path.is_null() { c"" } else { unsafe { CStr::from_ptr(path) } };
    if below.to_bytes().starts_with(b"/") || (directory == libc::AT_FDCWD && !below.is_empty()) {
        return may_start(path);
    }
    if below.is_empty() && flags & libc::AT_EMPTY_PATH == 0 {
        return true; // the kernel refuses it
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

macro_rules! starts {
    ($($name:ident: $text:literal, $allowed:ident($($known:ident),+; $($argument:ident: $kind:ty),*) or $refusal:expr;)*) => {$(
        /// # Safety
        /// As C's.
        #[no_mangle]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            if !$allowed($($known),+) {
                return $refusal;
            }
            let function = next!($text, unsafe extern "C" fn($($kind),*) -> c_int);
            // SAFETY: by the caller's promise.
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
    posix_spawnp: c"posix_spawnp", may_start_of_path(name; child: *mut pid_t, name: *const c_char, actions: *const posix_spawn_file_actions_t,
        attributes: *const posix_spawnattr_t, given: Texts, environment: Texts) or libc::EACCES;
}

fn refused() -> c_int {
    crate::raw::failed(libc::EACCES) as c_int
}
