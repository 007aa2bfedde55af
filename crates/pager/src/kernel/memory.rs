//! Memory mappings and their pages: `mmap`, `mprotect`, `madvise`.

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::{Errno, Result};
use rustix::mm::{self, MapFlags, MprotectFlags, ProtFlags};
use std::ffi::c_void;
use std::ops::Range;

/// The protection of a mapping, as `PROT_*` bits.
pub type Prot = u32;
pub const READ_WRITE: Prot = (libc::PROT_READ | libc::PROT_WRITE) as Prot;
pub const EXECUTE: Prot = libc::PROT_EXEC as Prot;

/// A page-aligned range of addresses.
pub type Bytes = Range<usize>;

/// Reserve `len` bytes of address space: an anonymous mapping without access, which takes no
/// memory.
pub fn reserve(len: usize) -> Result<usize> {
    // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
    unsafe { mm::mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE) }
        .map(|p| p as usize)
}

/// Replace `range` by fresh anonymous memory, which reads as zeros.
///
/// # Safety
/// `range` is in a mapping of the caller, which no longer needs its content.
pub unsafe fn map_fresh(range: Bytes, prot: Prot) -> Result<()> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: the caller owns `range`.
    unsafe { mm::mmap_anonymous(range.start as *mut c_void, range.len(), ProtFlags::from_bits_retain(prot), flags) }?;
    no_huge_pages(range);
    Ok(())
}

/// Map anonymous memory at `range`. EXIST if a part of it is mapped.
pub fn map_unoccupied(range: Bytes, prot: Prot) -> Result<()> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: with this flag the kernel replaces no mapping.
    unsafe { mm::mmap_anonymous(range.start as *mut c_void, range.len(), ProtFlags::from_bits_retain(prot), flags) }.map(|_| ())
}

/// Replace `range` by a private mapping of `file` from `offset`: reads use the file's pages in
/// place, writes copy them.
///
/// # Safety
/// `range` is in a mapping of the caller, and its content is already in the file.
pub unsafe fn map_private_file(range: Bytes, prot: Prot, file: &OwnedFd, offset: u64) -> Result<()> {
    let (prot, flags) = (ProtFlags::from_bits_retain(prot), MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED);
    // SAFETY: the caller owns `range`.
    unsafe { mm::mmap(range.start as *mut c_void, range.len(), prot, flags, file.as_fd(), offset) }?;
    no_huge_pages(range);
    Ok(())
}

/// Map `len` bytes of `file` shared and writable, over what is mapped at `at`, or where the kernel
/// places it.
///
/// # Safety
/// The caller owns the addresses from `at`, if there is one, and uses none of them.
pub unsafe fn map_shared_file(file: &OwnedFd, at: Option<usize>, len: usize) -> Result<usize> {
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    let placed = if at.is_some() { MapFlags::FIXED } else { MapFlags::empty() };
    let flags = MapFlags::SHARED | MapFlags::NORESERVE | placed;
    // SAFETY: guaranteed by the caller.
    unsafe { mm::mmap(at.unwrap_or(0) as *mut c_void, len, prot, flags, file.as_fd(), 0) }.map(|p| p as usize)
}

/// Unmap `range`.
///
/// # Safety
/// Nothing uses `range` any more.
pub unsafe fn unmap(range: Bytes) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { mm::munmap(range.start as *mut c_void, range.len()) }
}

/// Set the protection of `range`.
///
/// # Safety
/// The caller owns `range`, and its users need no other access.
pub unsafe fn protect(range: Bytes, prot: Prot) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { mm::mprotect(range.start as *mut c_void, range.len(), MprotectFlags::from_bits_retain(prot)) }
}

/// Whether the kernel uses transparent huge pages by default. A page inside a huge page cannot be
/// evicted alone.
static HUGE_BY_DEFAULT: std::sync::OnceLock<bool> = std::sync::OnceLock::new();

/// Disable huge pages in `range`, if they are on by default; otherwise the system call is saved.
pub fn no_huge_pages(range: Bytes) {
    let setting = || std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").is_ok_and(|s| s.contains("[always]"));
    if !*HUGE_BY_DEFAULT.get_or_init(setting) {
        return;
    }
    // SAFETY: only changes how the kernel backs memory, never its content.
    let _ = unsafe { mm::madvise(range.start as *mut c_void, range.len(), mm::Advice::LinuxNoHugepage) };
}

/// Exclude `range` from forked children, or include it again.
pub fn unshare(range: Bytes, unshared: bool) -> Result<()> {
    let advice = if unshared { mm::Advice::LinuxDontFork } else { mm::Advice::LinuxDoFork };
    // SAFETY: changes what a child of a later fork gets, nothing else.
    unsafe { mm::madvise(range.start as *mut c_void, range.len(), advice) }
}

/// Drop the private pages of `range` (`MADV_DONTNEED`): a file mapping then reads from the file,
/// anonymous memory as zeros.
///
/// # Safety
/// The content is saved, or nobody needs it.
pub unsafe fn drop_pages(range: Bytes) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { mm::madvise(range.start as *mut c_void, range.len(), mm::Advice::LinuxDontNeed) }
}

/// A pidfd of this process, for [`drop_many`].
pub fn own_pidfd() -> Option<OwnedFd> {
    rustix::process::pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty()).ok()
}

/// Do [`drop_pages`] for many ranges, with one system call per 64 ranges (`process_madvise` on the
/// own process, Linux 6.13) if `me`, the process's own pidfd, is given and the kernel supports it.
///
/// # Safety
/// As for [`drop_pages`].
pub unsafe fn drop_many(me: Option<&OwnedFd>, runs: &[Bytes]) -> Result<()> {
    if let (Some(me), true) = (me, runs.len() > 1) {
        for group in runs.chunks(64) {
            let mut vector = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 64];
            for (slot, run) in vector.iter_mut().zip(group) {
                *slot = libc::iovec { iov_base: run.start as *mut c_void, iov_len: run.len() };
            }
            let wanted: usize = group.iter().map(|r| r.len()).sum();
            // SAFETY: `vector` holds `group.len()` ranges, whose content the caller discards.
            let done =
                unsafe { libc::syscall(libc::SYS_process_madvise, me.as_raw_fd(), vector.as_ptr(), group.len(), libc::MADV_DONTNEED, 0) };
            if done != wanted as i64 {
                // The kernel does not support it, or stopped half way. Dropping a page twice is
                // harmless.
                // SAFETY: guaranteed by the caller.
                group.iter().try_for_each(|run| unsafe { drop_pages(run.clone()) })?;
            }
        }
        return Ok(());
    }
    // SAFETY: guaranteed by the caller.
    runs.iter().try_for_each(|run| unsafe { drop_pages(run.clone()) })
}

/// Fault `range` in like a read, but without a signal if another thread has unmapped it.
pub fn populate(range: Bytes) {
    // SAFETY: the call changes no content.
    let _ = unsafe { mm::madvise(range.start as *mut c_void, range.len(), mm::Advice::LinuxPopulateRead) };
}

/// Free the file pages of `range`, a part of a shared mapping (`MADV_REMOVE`). They read as zeros
/// afterwards.
///
/// # Safety
/// Nobody needs the content.
pub unsafe fn punch_hole(range: Bytes) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    unsafe { mm::madvise(range.start as *mut c_void, range.len(), mm::Advice::LinuxRemove) }
}

/// Allocate the pages of the file mapped shared at `range` from NUMA node `node` (0 to 63), such as
/// a CXL or persistent-memory node.
pub fn bind_to_node(range: Bytes, node: u32) -> Result<()> {
    let mask = [1u64 << (node % 64)];
    if node >= 64 {
        return Err(Errno::INVAL);
    }
    const MPOL_BIND: i32 = 2;
    // SAFETY: sets an allocation policy. The mask has 64 bits; the kernel expects this number plus
    // one.
    match unsafe { libc::syscall(libc::SYS_mbind, range.start, range.len(), MPOL_BIND, mask.as_ptr(), 65, 0) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}

/// The bytes of `range`, which other threads may read meanwhile.
///
/// # Safety
/// `range` is mapped and readable, and nobody writes to it while the slice exists (it is
/// write-protected, for example).
pub unsafe fn bytes<'a>(range: Bytes) -> &'a [u8] {
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) }
}
