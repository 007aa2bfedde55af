//! Transfers that pin memory. A device writes to the pinned page frame, not to the program's
//! address: if the page were evicted, the data would be lost. So files are opened without
//! `O_DIRECT`, and the kernel then writes to the address; buffers that are registered with io_uring
//! stay in DRAM until they are unmapped.

use crate::locks::{keep, stop_keeping};
use crate::raw;
use crate::state::{pager, run_late};
use libc::{c_char, c_int, c_uint, c_void, iovec, mode_t};
use swaplab_pager::PageRange;

/// Remove `O_DIRECT` from the flags of an open file, in a managed program.
pub fn without_direct_flag(flags: c_int) -> c_int {
    if pager().is_some() {
        flags & !libc::O_DIRECT
    } else {
        flags
    }
}

/// Interposes the C functions that open a file. If no file is created, the caller passes no `mode`
/// and its value is arbitrary.
macro_rules! opens {
    ($($name:ident: $text:literal($($before:ident: $kind:ty),+; $($mode:ident: $mode_kind:ty)?);)*) => {$(
        /// # Safety
        /// As for the C library's function.
        #[no_mangle]
        pub unsafe extern "C" fn $name($($before: $kind,)+ flags: c_int $(, $mode: $mode_kind)?) -> c_int {
            let function = next!($text, unsafe extern "C" fn($($kind,)+ c_int $(, $mode_kind)?) -> c_int);
            run_late(); // starts the pager thread, if it is due
            // SAFETY: guaranteed by the caller.
            unsafe { function($($before,)+ without_direct_flag(flags) $(, $mode)?) }
        }
    )*};
}

opens! {
    open: c"open"(path: *const c_char; mode: mode_t);
    open64: c"open64"(path: *const c_char; mode: mode_t);
    openat: c"openat"(directory: c_int, path: *const c_char; mode: mode_t);
    openat64: c"openat64"(directory: c_int, path: *const c_char; mode: mode_t);
    __open_2: c"__open_2"(path: *const c_char;);
    __open64_2: c"__open64_2"(path: *const c_char;);
    __openat_2: c"__openat_2"(directory: c_int, path: *const c_char;);
    __openat64_2: c"__openat64_2"(directory: c_int, path: *const c_char;);
}

/// Interposes `fcntl`, which can set `O_DIRECT`.
macro_rules! controls {
    ($($name:ident: $text:literal;)*) => {$(
        /// # Safety
        /// As for the C library's function: `value` is a number or an address, depending on the
        /// command.
        #[no_mangle]
        pub unsafe extern "C" fn $name(file: c_int, command: c_int, value: usize) -> c_int {
            let function = next!($text, unsafe extern "C" fn(c_int, c_int, usize) -> c_int);
            // SAFETY: guaranteed by the caller.
            unsafe { function(file, command, fcntl_value_without_direct_flag(command, value)) }
        }
    )*};
}

controls! {
    fcntl: c"fcntl";
    fcntl64: c"fcntl64";
}

/// The third argument of `fcntl`, without `O_DIRECT` if the command sets flags.
pub fn fcntl_value_without_direct_flag(command: c_int, value: usize) -> usize {
    if command == libc::F_SETFL {
        without_direct_flag(value as c_int) as usize
    } else {
        value
    }
}

/// Perform the system call `openat2`, whose flags are in a structure.
///
/// # Safety
/// As for the system call.
pub unsafe fn openat2(directory: c_int, path: *const c_char, how: *const libc::open_how, size: usize) -> isize {
    if how.is_null() || size < size_of::<libc::open_how>() || pager().is_none() {
        return kernel!(SYS_openat2, directory, path, how, size);
    }
    // SAFETY: the program's structure, which the system call would read.
    let mut changed = unsafe { how.read() };
    changed.flags &= !(libc::O_DIRECT as u64);
    kernel!(SYS_openat2, directory, path, &raw const changed, size_of::<libc::open_how>())
}

/// Perform the system call `io_uring_register`, after excluding registered buffers from eviction.
/// If it fails, those that were not excluded before are not excluded after.
///
/// # Safety
/// As for the system call.
pub unsafe fn io_uring_register(ring: c_int, operation: c_uint, argument: *const c_void, count: c_uint) -> isize {
    let call = || kernel!(SYS_io_uring_register, ring, operation, argument, count);
    if pager().is_none() || argument.is_null() {
        return call();
    }
    // SAFETY: the program's structures, which the system call would read.
    let kept = unsafe {
        match operation {
            REGISTER_BUFFERS => keep_all(argument.cast(), count as usize),
            REGISTER_BUFFERS2 => {
                let given = argument.cast::<Buffers>().read();
                keep_all(given.data as *const iovec, given.number as usize)
            }
            UPDATE_BUFFERS => {
                let given = argument.cast::<BufferUpdate>().read();
                keep_all(given.data as *const iovec, given.number as usize)
            }
            REGISTER_BUFFER_RING => {
                let given = argument.cast::<BufferRing>().read();
                keep(given.address as *const c_void, given.entries as usize * 16)
            }
            _ => Vec::new(),
        }
    };
    let result = call();
    if result < 0 {
        stop_keeping(kept);
    }
    result
}

/// Exclude `count` buffers from eviction. Returns the memory that was not excluded before.
///
/// # Safety
/// `buffers` has `count` elements, or is null.
unsafe fn keep_all(buffers: *const iovec, count: usize) -> Vec<PageRange> {
    let count = if buffers.is_null() { 0 } else { count };
    let keep_at = |at| {
        // SAFETY: guaranteed by the caller.
        let buffer = unsafe { buffers.add(at).read() };
        keep(buffer.iov_base, buffer.iov_len)
    };
    (0..count).flat_map(keep_at).collect()
}

/// Perform the system call `io_uring_setup`. A ring in the program's own memory is refused with
/// EINVAL, like by kernels before 6.5; the program then lets the kernel allocate the ring.
///
/// # Safety
/// As for the system call.
pub unsafe fn io_uring_setup(entries: c_uint, parameters: *mut c_void) -> isize {
    const NO_MMAP: u32 = 1 << 14;
    // SAFETY: the program's structure, in which the flags are the third number.
    if pager().is_some() && !parameters.is_null() && unsafe { parameters.cast::<u32>().add(2).read() } & NO_MMAP != 0 {
        return raw::failed(libc::EINVAL);
    }
    kernel!(SYS_io_uring_setup, entries, parameters)
}

// Operations and structures of <linux/io_uring.h>.
const REGISTER_BUFFERS: c_uint = 0;
const REGISTER_BUFFERS2: c_uint = 15;
const UPDATE_BUFFERS: c_uint = 16;
const REGISTER_BUFFER_RING: c_uint = 22;

#[repr(C)]
struct Buffers {
    number: u32,
    flags: u32,
    reserved: u64,
    data: u64,
    tags: u64,
}

#[repr(C)]
struct BufferUpdate {
    offset: u32,
    reserved: u32,
    data: u64,
    tags: u64,
    number: u32,
    reserved2: u32,
}

#[repr(C)]
struct BufferRing {
    address: u64,
    entries: u32,
    group: u16,
    flags: u16,
    reserved: [u64; 3],
}
