//! Mappings: reserved, anonymous, of the NVM file; zeroed tables; dropping pages.

use super::PAGE;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::{Errno, Result};
use rustix::mm::{self, MapFlags, MprotectFlags, ProtFlags};
use std::ffi::c_void;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a program may do with a mapping, as `PROT_*` bits.
pub type Prot = u32;
pub const READ_WRITE: Prot = (libc::PROT_READ | libc::PROT_WRITE) as Prot;
pub const EXECUTE: Prot = libc::PROT_EXEC as Prot;

/// Addresses of whole pages.
pub type Bytes = Range<usize>;

/// An inaccessible anonymous range of address space; costs nothing until it is opened.
pub fn reserve(len: usize) -> Result<usize> {
    // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
    unsafe { mm::mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE) }
        .map(|p| p as usize)
}

/// Ranges of the pager's own memory: where each begins, and its length. A table without an allocation, as the allocator itself is in it.
static OWN: [[AtomicUsize; 2]; 4096] = [const { [const { AtomicUsize::new(0) }; 2] }; 4096];

/// [`reserve`] for the pager's own use, so that the account can tell it from the program's.
pub fn reserve_own(len: usize) -> Result<usize> {
    let start = reserve(len)?;
    for [place, length] in &OWN {
        if place.compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            length.store(len, Ordering::Release);
            break;
        }
    }
    Ok(start)
}

/// The pager's own memory.
pub fn own() -> impl Iterator<Item = Bytes> {
    OWN.iter()
        .map(|[start, len]| (start.load(Ordering::Acquire), len.load(Ordering::Acquire)))
        .filter(|(start, _)| *start != 0)
        .map(|(start, len)| start..start + len)
}

/// # Safety
/// Nothing uses this range of [`reserve_own`] any more.
pub unsafe fn unmap_own(range: Bytes) -> Result<()> {
    if let Some([place, length]) = OWN.iter().find(|[place, _]| place.load(Ordering::Relaxed) == range.start) {
        length.store(0, Ordering::Relaxed);
        place.store(0, Ordering::Release);
    }
    // SAFETY: by the caller's promise.
    unsafe { unmap(range) }
}

/// Replace `range` by fresh anonymous memory, which reads as zeros.
///
/// # Safety
/// `range` lies in a mapping the caller owns; whatever it held is gone.
pub unsafe fn map_fresh(range: Bytes, prot: Prot) -> Result<()> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: the caller owns `range`.
    unsafe { mm::mmap_anonymous(range.start as *mut c_void, range.len(), ProtFlags::from_bits_retain(prot), flags) }?;
    no_huge_pages(range);
    Ok(())
}

/// Anonymous memory at `range`, unless something is there already.
pub fn map_where_nothing_is(range: Bytes, prot: Prot) -> Result<()> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: the kernel maps nothing over anything.
    let at = unsafe { mm::mmap_anonymous(range.start as *mut c_void, range.len(), ProtFlags::from_bits_retain(prot), flags) }?;
    if at as usize != range.start {
        // A kernel that does not know the flag (before 4.17) takes the address for a wish.
        // SAFETY: mapped just now.
        unsafe { unmap(at as usize..at as usize + range.len()) }?;
        return Err(Errno::EXIST);
    }
    Ok(())
}

/// Replace `range` by a private mapping of `file` from `offset`: reads see the file's pages in place, writes copy them.
///
/// # Safety
/// `range` lies in a mapping the caller owns; what it held has to be in the file already.
pub unsafe fn map_private_file(range: Bytes, prot: Prot, file: &OwnedFd, offset: u64) -> Result<()> {
    let (prot, flags) = (ProtFlags::from_bits_retain(prot), MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED);
    // SAFETY: the caller owns `range`.
    unsafe { mm::mmap(range.start as *mut c_void, range.len(), prot, flags, file.as_fd(), offset) }?;
    no_huge_pages(range);
    Ok(())
}

/// A shared, writable mapping of all of `file`, through which any thread can punch holes without holding its descriptor.
pub fn map_shared_file(file: &OwnedFd, len: usize) -> Result<usize> {
    let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
    // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
    unsafe { mm::mmap(std::ptr::null_mut(), len, prot, flags, file.as_fd(), 0) }.map(|p| p as usize)
}

/// # Safety
/// Nothing uses `range` any more.
pub unsafe fn unmap(range: Bytes) -> Result<()> {
    // SAFETY: by the caller's promise.
    unsafe { mm::munmap(range.start as *mut c_void, range.len()) }
}

/// # Safety
/// The caller owns `range`, and whoever uses it wants this protection.
pub unsafe fn protect(range: Bytes, prot: Prot) -> Result<()> {
    // SAFETY: by the caller's promise.
    unsafe { mm::mprotect(range.start as *mut c_void, range.len(), MprotectFlags::from_bits_retain(prot)) }
}

/// Whether this machine gives huge pages to whoever does not object. A page inside one could not be evicted alone.
static HUGE_BY_DEFAULT: std::sync::OnceLock<bool> = std::sync::OnceLock::new();

/// Object to huge pages, where they are given unasked. (`madvise` on every mapping would otherwise cost a call each.)
pub fn no_huge_pages(range: Bytes) {
    let setting = || std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").is_ok_and(|s| s.contains("[always]"));
    if !*HUGE_BY_DEFAULT.get_or_init(setting) {
        return;
    }
    // SAFETY: only changes how the kernel backs memory, never its content.
    let _ = unsafe { mm::madvise(range.start as *mut c_void, range.len(), mm::Advice::LinuxNoHugepage) };
}

/// Keep `range` from forked children, or no more.
pub fn unshare(range: Bytes, unshared: bool) -> Result<()> {
    let advice = if unshared { mm::Advice::LinuxDontFork } else { mm::Advice::LinuxDoFork };
    // SAFETY: changes what a child of a later fork gets, nothing else.
    unsafe { mm::madvise(range.start as *mut c_void, range.len(), advice) }
}

/// Drop the pages of `range`: private copies go, a file mapping shows the file again, anonymous memory reads as zeros.
///
/// # Safety
/// The content is saved, or nobody wants it.
pub unsafe fn drop_pages(range: Bytes) -> Result<()> {
    // SAFETY: by the caller's promise.
    unsafe { mm::madvise(range.start as *mut c_void, range.len(), mm::Advice::LinuxDontNeed) }
}

/// [`drop_pages`] for many ranges in as few system calls as the kernel allows (`process_madvise` on oneself, Linux 6.13).
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
            // SAFETY: `vector` holds `group.len()` ranges whose content the caller gives up.
            let done =
                unsafe { libc::syscall(libc::SYS_process_madvise, me.as_raw_fd(), vector.as_ptr(), group.len(), libc::MADV_DONTNEED, 0) };
            if done != wanted as i64 {
                // Not in this kernel, or stopped half way: dropping a page twice is harmless.
                group.iter().try_for_each(|run| unsafe { drop_pages(run.clone()) })?;
                // SAFETY: as above
            }
        }
        return Ok(());
    }
    // SAFETY: by the caller's promise.
    runs.iter().try_for_each(|run| unsafe { drop_pages(run.clone()) })
}

/// Fault `range` in as a read would, but without harm if another thread has unmapped it.
pub fn bring_in(range: Bytes) {
    // SAFETY: changes no content.
    let _ = unsafe { mm::madvise(range.start as *mut c_void, range.len(), mm::Advice::LinuxPopulateRead) };
}

/// Give back the file pages behind `range` of a shared mapping; they read as zeros afterwards.
///
/// # Safety
/// Nobody wants the content.
pub unsafe fn punch(range: Bytes) -> Result<()> {
    // SAFETY: by the caller's promise.
    unsafe { mm::madvise(range.start as *mut c_void, range.len(), mm::Advice::LinuxRemove) }
}

/// Prefer NUMA node `node` for the pages of the file behind a shared mapping: how a CXL or persistent-memory node is used.
pub fn bind_to_node(range: Bytes, node: u32) -> Result<()> {
    let mask = [1u64 << (node % 64)];
    if node >= 64 {
        return Err(Errno::INVAL);
    }
    const MPOL_BIND: i32 = 2;
    // SAFETY: sets an allocation policy; the mask has 64 bits (the kernel wants their number plus one).
    match unsafe { libc::syscall(libc::SYS_mbind, range.start, range.len(), MPOL_BIND, mask.as_ptr(), 65, 0) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}

/// The bytes of `range`, which other threads may be reading.
///
/// # Safety
/// `range` is mapped and readable, and write-protected or otherwise still while the slice lives.
pub unsafe fn bytes<'a>(range: Bytes) -> &'a [u8] {
    // SAFETY: by the caller's promise.
    unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) }
}

/// A table of zeros that takes memory only where it is touched.
pub struct Zeroed<T: Copy> {
    start: usize,
    len: usize,
    kind: std::marker::PhantomData<T>,
}

impl<T: Copy> Zeroed<T> {
    /// # Safety
    /// All bits zero has to be a value of `T`.
    pub unsafe fn new(len: usize) -> Result<Zeroed<T>> {
        let size = (len * size_of::<T>()).next_multiple_of(PAGE).max(PAGE);
        let start = reserve_own(size)?;
        // SAFETY: the range was reserved on the line above.
        unsafe { protect(start..start + size, READ_WRITE) }?;
        Ok(Zeroed { start, len, kind: std::marker::PhantomData })
    }
}

impl<T: Copy> Deref for Zeroed<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `new` mapped `len` zeroed elements, and only this value reaches them.
        unsafe { std::slice::from_raw_parts(self.start as *const T, self.len) }
    }
}

impl<T: Copy> DerefMut for Zeroed<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start as *mut T, self.len) }
    }
}

impl<T: Copy> Drop for Zeroed<T> {
    fn drop(&mut self) {
        let size = (self.len * size_of::<T>()).next_multiple_of(PAGE).max(PAGE);
        // SAFETY: mapped by `new`, and nobody can hold a borrow any more.
        let _ = unsafe { unmap_own(self.start..self.start + size) };
    }
}
