//! System calls that no crate wraps.
#![allow(unsafe_code)]

use crate::plan::Partition;
use rustix::mm::{mlockall, MlockAllFlags};
use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Result as IoResult};
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use swaplab_vocab::{BadInput, Result};

/// Turn on swap to a device.
pub fn swap_on(device: &str) -> Result<()> {
    let path = CString::new(device).map_err(|_| BadInput::new(device, "a zero byte", "a path"))?;
    // SAFETY: `path` is a C string that is valid during the call.
    let done = unsafe { libc::swapon(path.as_ptr(), 0) };
    succeeded(done.into()).map_err(|error| BadInput::io(format!("swapon {device}"), error))
}

/// Load a kernel module with its options.
pub fn load_module(file: &File, options: &str) -> IoResult<()> {
    let options = CString::new(options).map_err(Error::other)?;
    // SAFETY: the descriptor is open and `options` is a C string that is valid during the call.
    succeeded(unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), options.as_ptr(), 0) })
}

/// `struct blkpg_partition` of the kernel's interface (include/uapi/linux/blkpg.h).
#[repr(C)]
struct BlkpgPartition {
    start: i64,
    length: i64,
    number: libc::c_int,
    names: [u8; 128],
}

/// `struct blkpg_ioctl_arg` of the same header.
#[repr(C)]
struct BlkpgArgument {
    operation: libc::c_int,
    flags: libc::c_int,
    length: libc::c_int,
    data: *mut BlkpgPartition,
}

/// Add a partition to a block device. The kernel makes a separate block device for it.
pub fn add_partition(device: &File, wanted: &Partition) -> IoResult<()> {
    const BLKPG: libc::c_int = 0x1269;
    const ADD_PARTITION: libc::c_int = 1;
    let mut part = BlkpgPartition { start: wanted.start_bytes, length: wanted.length_bytes, number: wanted.number, names: [0; 128] };
    let size = std::mem::size_of::<BlkpgPartition>() as libc::c_int;
    let argument = BlkpgArgument { operation: ADD_PARTITION, flags: 0, length: size, data: &mut part };
    // SAFETY: both structures have the kernel's layout and are valid during the call, which keeps
    // no pointer to them.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), BLKPG as _, std::ptr::from_ref(&argument)) };
    succeeded(done.into())
}

/// Lock all pages of this program in memory, including future ones.
pub fn lock_memory() -> Result<()> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(|error| BadInput::io("mlockall", error.into()))
}

/// Give the calling thread a real-time priority, as lmkd has, so that it preempts ordinary tasks.
pub fn run_first() -> Result<()> {
    // A raw system call, as musl's function always fails.
    let priority: libc::c_int = 1;
    // SAFETY: the kernel reads a `struct sched_param`, which is one integer.
    let done = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, std::ptr::from_ref(&priority)) };
    succeeded(done).map_err(|error| BadInput::io("sched_setscheduler", error))
}

/// Advise the kernel about a range of addresses of another process. Returns the number of bytes
/// that it has followed the advice for.
pub fn advise(process: BorrowedFd, range: &Range<u64>, advice: libc::c_int) -> IoResult<u64> {
    let part = libc::iovec { iov_base: range.start as *mut libc::c_void, iov_len: (range.end - range.start) as usize };
    // SAFETY: the kernel reads one `struct iovec`, which is valid during the call. The addresses in
    // it are the other process's; this program's memory is not changed.
    let done = unsafe { libc::syscall(libc::SYS_process_madvise, process.as_raw_fd(), std::ptr::from_ref(&part), 1, advice, 0) };
    u64::try_from(done).map_err(|_| Error::last_os_error())
}

/// Turn the machine off.
pub fn power_off() -> ! {
    // SAFETY: `reboot` accesses no memory of this program.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
    loop {
        std::thread::park();
    }
}

/// Convert the result of a system call: an error from errno unless it is 0.
fn succeeded(returned: libc::c_long) -> IoResult<()> {
    match returned {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}
