//! Interposes `exec` and `posix_spawn` to detect programs into which no library can be preloaded.
//! For each, one line is printed; with `--unmanaged refuse` it is not started. A program that gets
//! an environment without the pager's variables is reported and started. After the start, nothing
//! could detect them. This code also runs between `fork` and `exec`, so it must not allocate.

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

/// Whether the program at `path` may start with this environment (`None`: unknown). If it cannot be
/// managed, print a line. Not inlined, as [`starts_of_lists`] needs.
#[inline(never)]
fn may_start(path: *const c_char, environment: Option<Texts>) -> bool {
    if path.is_null() || pager().is_none() {
        return true;
    }
    // SAFETY: the caller guarantees the path of a program.
    let path = unsafe { CStr::from_ptr(path) };
    let reason = match unreachable(path) {
        None | Some(Unreachable::NoProgram) => {
            // SAFETY: the caller guarantees the texts of an environment; and a path.
            if unsafe { environment.is_some_and(|texts| is_cleared(texts)) && libc::access(path.as_ptr(), libc::X_OK) == 0 } {
                report(path, &"its environment lacks LD_PRELOAD or SWAPLAB_DRAM", RUNS_UNMANAGED);
            }
            return true;
        }
        Some(reason) => reason,
    };
    let warns = WARNS.load(Ordering::Relaxed);
    report(path, &reason, if warns { RUNS_UNMANAGED } else { "not started; --unmanaged warn would start it unmanaged" });
    warns
}

const RUNS_UNMANAGED: &str = "it runs unmanaged, on as much memory as it takes";

/// Print why the program at `path` cannot be managed, and the consequence.
fn report(path: &CStr, reason: &dyn fmt::Display, consequence: &str) {
    let mut line = Line::new();
    let _ = write!(line, "{}: {reason}: {consequence}", path.to_str().unwrap_or("a program"));
    swaplab_pager::say(std::str::from_utf8(&line.bytes[..line.len]).unwrap_or("a program that cannot be managed"));
}

/// Whether an environment lacks the variables by which the program would be managed: the one that
/// names this library, or the budget.
///
/// # Safety
/// `texts` is null, or ends with a null.
unsafe fn is_cleared(mut texts: Texts) -> bool {
    let (mut preloads, mut budget) = (false, false);
    // SAFETY: guaranteed by the caller.
    while let Some(text) = unsafe { texts.as_ref().filter(|text| !text.is_null()) } {
        // SAFETY: a text of the environment; the next one follows, or the null.
        let bytes = unsafe {
            texts = texts.add(1);
            CStr::from_ptr(*text).to_bytes()
        };
        const LIBRARY: &[u8] = b"libswaplab_preload";
        preloads |= bytes.starts_with(b"LD_PRELOAD=") && bytes.windows(LIBRARY.len()).any(|part| part == LIBRARY);
        budget |= bytes.starts_with(b"SWAPLAB_DRAM=");
    }
    !(preloads && budget)
}

/// The environment of this process.
fn inherited() -> Option<Texts> {
    extern "C" {
        static environ: Texts;
    }
    // SAFETY: the C library's variable; a program that changes it while another thread starts a
    // program has to expect either environment.
    Some(unsafe { environ })
}

/// [`may_start`] for a program that is searched in the PATH, in the same way as by the C library.
#[inline(never)]
fn may_start_of_path(name: *const c_char, environment: Option<Texts>) -> bool {
    const DEFAULT: &CStr = c"/bin:/usr/bin";
    // SAFETY: the caller guarantees the name of a program; the environment's text is only read.
    let (name, path) = unsafe {
        if name.is_null() || !libc::strchr(name, c_int::from(b'/')).is_null() {
            return may_start(name, environment);
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
            return may_start(buffer.as_ptr().cast(), environment);
        }
    }
    true
}

/// [`may_start`] for an open program.
fn may_start_open(file: c_int, environment: Option<Texts>) -> bool {
    may_start_at(file, c"".as_ptr(), libc::AT_EMPTY_PATH, environment)
}

/// [`may_start`] for `path` below an open directory. With `AT_EMPTY_PATH` and an empty path, the
/// descriptor is the program itself.
fn may_start_at(directory: c_int, path: *const c_char, flags: c_int, environment: Option<Texts>) -> bool {
    // SAFETY: the caller guarantees a path.
    let below = if path.is_null() { c"" } else { unsafe { CStr::from_ptr(path) } };
    if below.to_bytes().starts_with(b"/") || (directory == libc::AT_FDCWD && !below.is_empty()) {
        return may_start(path, environment);
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
    may_start(line.bytes.as_ptr().cast(), environment)
}

type Texts = *const *const c_char;

/// Interposes C functions that start a program: if the check fails, return the refusal; otherwise
/// call the C library's function.
macro_rules! starts {
    ($($name:ident: $text:literal, $allowed:ident($($known:expr),+; $($argument:ident: $kind:ty),*) or $refusal:expr;)*) => {$(
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
    execve: c"execve", may_start(path, Some(environment); path: *const c_char, given: Texts, environment: Texts) or refused();
    execv: c"execv", may_start(path, inherited(); path: *const c_char, given: Texts) or refused();
    execvp: c"execvp", may_start_of_path(name, inherited(); name: *const c_char, given: Texts) or refused();
    execvpe: c"execvpe", may_start_of_path(name, Some(environment); name: *const c_char, given: Texts, environment: Texts) or refused();
    fexecve: c"fexecve", may_start_open(file, Some(environment); file: c_int, given: Texts, environment: Texts) or refused();
    execveat: c"execveat", may_start_at(directory, path, flags, Some(environment); directory: c_int, path: *const c_char, given: Texts,
        environment: Texts, flags: c_int) or refused();
    posix_spawn: c"posix_spawn", may_start(path, Some(environment); child: *mut pid_t, path: *const c_char,
        actions: *const posix_spawn_file_actions_t, attributes: *const posix_spawnattr_t, given: Texts, environment: Texts) or libc::EACCES;
    posix_spawnp: c"posix_spawnp", may_start_of_path(name, Some(environment); child: *mut pid_t, name: *const c_char,
        actions: *const posix_spawn_file_actions_t, attributes: *const posix_spawnattr_t, given: Texts, environment: Texts) or libc::EACCES;
}

/// Interposes C functions that take the program's arguments as a list of any length. Only the path
/// is read here. The last call is compiled to a jump, because it passes on what the function was
/// given, has no memory of its own on the stack (so the checks must not be inlined), and leaves the
/// rest of the list where the caller has put it. Without optimization, 12 arguments are passed on.
macro_rules! starts_of_lists {
    ($($name:ident: $text:literal, $allowed:ident, $environment:expr;)*) => {$(
        /// # Safety
        /// As for the C library's function. The caller passes as many arguments as it has; the
        /// values of the others are arbitrary.
        #[no_mangle]
        pub unsafe extern "C" fn $name(path: *const c_char, a: Word, b: Word, c: Word, d: Word, e: Word, f: Word, g: Word, h: Word, i: Word,
            j: Word, k: Word, l: Word, end: Word) -> c_int {
            if !$allowed(path, $environment) {
                return refused();
            }
            type List = unsafe extern "C" fn(
                *const c_char, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word
            ) -> c_int;
            let function = next!($text, List);
            // SAFETY: guaranteed by the caller.
            unsafe { function(path, a, b, c, d, e, f, g, h, i, j, k, l, end) }
        }
    )*};
}

/// An argument of such a list: a string, the null that ends the list, or what stands after it.
type Word = *const c_char;

starts_of_lists! {
    execl: c"execl", may_start, inherited();
    execle: c"execle", may_start, None;
    execlp: c"execlp", may_start_of_path, inherited();
}

fn refused() -> c_int {
    crate::raw::failed(libc::EACCES) as c_int
}
