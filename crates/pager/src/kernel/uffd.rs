//! `userfaultfd`: write-protection of ranges, and faults on missing pages that the pager resolves.

use super::memory::Bytes;
use super::Missing;
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::ioctl::{opcode, Opcode, Updater};
use rustix::mm::UserfaultfdFlags;
use std::ffi::CStr;

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}
#[repr(C)]
struct Span {
    start: u64,
    len: u64,
}
#[repr(C)]
struct Register {
    range: Span,
    mode: u64,
    ioctls: u64,
}
#[repr(C)]
struct WriteProtect {
    range: Span,
    mode: u64,
}
#[repr(C)]
struct Copy {
    dst: u64,
    src: u64,
    len: u64,
    mode: u64,
    copied: i64,
}
#[repr(C)]
struct ZeroPage {
    range: Span,
    mode: u64,
    zeroed: i64,
}
/// struct uffd_msg, as page faults use it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    more: u64,
}

const GROUP: u8 = 0xAA;
const API: Opcode = opcode::read_write::<Api>(GROUP, 0x3F);
const REGISTER: Opcode = opcode::read_write::<Register>(GROUP, 0x00);
const UNREGISTER: Opcode = opcode::read::<Span>(GROUP, 0x01);
const WAKE: Opcode = opcode::read::<Span>(GROUP, 0x02);
const COPY: Opcode = opcode::read_write::<Copy>(GROUP, 0x03);
const ZERO: Opcode = opcode::read_write::<ZeroPage>(GROUP, 0x04);
const PROTECT: Opcode = opcode::read_write::<WriteProtect>(GROUP, 0x06);
const NEW: Opcode = opcode::none(GROUP, 0x00);

const MODE_MISSING: u64 = 1;
const MODE_WP: u64 = 2;
/// `UFFD_FEATURE_*`: write-protection faults, also on pages of shared memory, also on pages that
/// are not populated.
const FEATURES: u64 = 1 | 1 << 12 | 1 << 13;
const EVENT_PAGEFAULT: u8 = 0x12;

/// The faults that a registered range reports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    Writes,
    /// Every access to a missing page.
    Missing,
    WritesAndMissing,
}

/// A fault that a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    pub address: usize,
    pub write: bool,
    /// Whether the page is write-protected; otherwise it is missing.
    pub protected: bool,
}

/// The device that gives a userfaultfd to any process that can open it.
pub const DEVICE: &CStr = c"/dev/userfaultfd";

/// The lowest descriptor of [`DEVICE`] that this process has open.
pub fn inherited() -> Option<RawFd> {
    // Not `std::fs::read_dir`, which calls malloc: in the pager thread it may be the program's own.
    let directory = rustix::fs::open("/proc/thread-self/fd", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let entries = rustix::fs::Dir::read_from(&directory).ok()?.flatten();
    let is_device = |name: &CStr| rustix::fs::readlinkat(&directory, name, Vec::new()).is_ok_and(|target| target.as_c_str() == DEVICE);
    entries.filter(|entry| is_device(entry.file_name())).filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok()).min()
}

pub struct Uffd {
    fd: OwnedFd,
}

fn span(range: &Bytes) -> Span {
    Span { start: range.start as u64, len: range.len() as u64 }
}

impl Uffd {
    pub fn open() -> std::result::Result<Uffd, Missing> {
        let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
        // SAFETY: creates a descriptor; faults are handled as documented in evict.rs and
        // copying.rs.
        let fd = match unsafe { rustix::mm::userfaultfd(flags) } {
            Ok(fd) => fd,
            Err(Errno::PERM) => Self::open_device(flags)?,
            Err(e) => return Err(Missing::new("userfaultfd", format!("{e}; needs a kernel with CONFIG_USERFAULTFD"))),
        };
        let mut api = Api { api: GROUP as u64, features: FEATURES, ioctls: 0 };
        // SAFETY: the argument is the kernel's struct uffdio_api.
        unsafe { rustix::ioctl::ioctl(&fd, Updater::<API, _>::new(&mut api)) }
            .map_err(|e| Missing::new("userfaultfd write-protect", format!("{e}; needs Linux 6.4 or newer")))?;
        Ok(Uffd { fd })
    }

    /// Open a userfaultfd through the device, for a user who is permitted to open it or has
    /// inherited it open.
    fn open_device(flags: UserfaultfdFlags) -> std::result::Result<OwnedFd, Missing> {
        let why = "not permitted; run as root, or set sysctl vm.unprivileged_userfaultfd=1, or give yourself /dev/userfaultfd";
        let missing = || Missing::new("userfaultfd", why);
        let mode = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
        let opened = rustix::fs::open(DEVICE, mode, rustix::fs::Mode::empty()).ok();
        // SAFETY: the descriptor is open, and it is not closed before the program's own code runs.
        let inherited = || inherited().map(|number| unsafe { BorrowedFd::borrow_raw(number) });
        let device = opened.as_ref().map(AsFd::as_fd).or_else(inherited).ok_or_else(missing)?;
        // SAFETY: USERFAULTFD_IOC_NEW takes flags by value and returns a new descriptor.
        unsafe { rustix::ioctl::ioctl(device, NewFd(flags.bits())) }.map_err(|_| missing())
    }

    pub fn register(&self, range: Bytes, watch: Watch) -> Result<()> {
        let mode = match watch {
            Watch::Writes => MODE_WP,
            Watch::Missing => MODE_MISSING,
            Watch::WritesAndMissing => MODE_WP | MODE_MISSING,
        };
        let mut argument = Register { range: span(&range), mode, ioctls: 0 };
        // SAFETY: the argument is struct uffdio_register. The call changes who handles faults, not
        // memory.
        unsafe { rustix::ioctl::ioctl(&self.fd, Updater::<REGISTER, _>::new(&mut argument)) }
    }

    /// Stop reporting faults in `range`, and lift its protection. Waiting threads still have to be
    /// woken.
    pub fn unregister(&self, range: Bytes) -> Result<()> {
        let mut argument = span(&range);
        // SAFETY: the argument is struct uffdio_range.
        unsafe { rustix::ioctl::ioctl(&self.fd, Updater::<UNREGISTER, _>::new(&mut argument)) }
    }

    pub fn wake(&self, range: Bytes) -> Result<()> {
        let mut argument = span(&range);
        // SAFETY: the argument is struct uffdio_range.
        unsafe { rustix::ioctl::ioctl(&self.fd, Updater::<WAKE, _>::new(&mut argument)) }
    }

    /// Write-protect `range`, or lift the protection and wake the waiting threads.
    pub fn protect(&self, range: Bytes, on: bool) -> Result<()> {
        let mut argument = WriteProtect { range: span(&range), mode: on as u64 };
        loop {
            // SAFETY: the argument is struct uffdio_writeprotect.
            match unsafe { rustix::ioctl::ioctl(&self.fd, Updater::<PROTECT, _>::new(&mut argument)) } {
                Err(Errno::AGAIN) => continue, // The address space was changing.
                other => return other,
            }
        }
    }

    /// Fill the missing page at `address` with `content`, write-protected or not, and wake its
    /// waiters. A page that exists is not changed.
    pub fn fill(&self, address: usize, content: &crate::store::PageBytes, protected: bool) -> Result<()> {
        const PROTECTED: u64 = 2;
        let mode = if protected { PROTECTED } else { 0 };
        let mut argument = Copy { dst: address as u64, src: content.0.as_ptr() as u64, len: super::PAGE as u64, mode, copied: 0 };
        // SAFETY: the argument is struct uffdio_copy; the kernel only fills a missing page.
        self.repeat_until_filled(address, || unsafe { rustix::ioctl::ioctl(&self.fd, Updater::<COPY, _>::new(&mut argument)) })
    }

    /// [`fill`](Uffd::fill) with zeros.
    pub fn fill_zero(&self, address: usize) -> Result<()> {
        let range = address..address + super::PAGE;
        let mut argument = ZeroPage { range: span(&range), mode: 0, zeroed: 0 };
        // SAFETY: the argument is struct uffdio_zeropage; the kernel only fills a missing page.
        self.repeat_until_filled(address, || unsafe { rustix::ioctl::ioctl(&self.fd, Updater::<ZERO, _>::new(&mut argument)) })
    }

    /// Repeat `call`, which fills the page at `address`, until it succeeds or the page no longer
    /// has to be filled.
    fn repeat_until_filled(&self, address: usize, mut call: impl FnMut() -> Result<()>) -> Result<()> {
        loop {
            match call() {
                Err(Errno::AGAIN) => continue,
                // The page was filled or unmapped meanwhile: wake the waiter, which repeats its
                // access.
                Err(Errno::EXIST | Errno::NOENT) => return self.wake(address..address + super::PAGE),
                other => return other,
            }
        }
    }

    /// Wait at most `timeout_ns` for faults.
    pub fn wait(&self, timeout_ns: u64) {
        let mut poll = [rustix::event::PollFd::new(&self.fd, rustix::event::PollFlags::IN)];
        let timeout = rustix::event::Timespec { tv_sec: (timeout_ns / 1_000_000_000) as i64, tv_nsec: (timeout_ns % 1_000_000_000) as i64 };
        let _ = rustix::event::poll(&mut poll, Some(&timeout));
    }

    /// Read the pending faults into `room`, without waiting. Returns how many messages were read.
    pub fn faults(&self, room: &mut [Option<Fault>; 16]) -> usize {
        let mut messages = [Message::default(); 16];
        // SAFETY: the slice covers the array, for which every bit pattern is valid.
        let bytes = unsafe { std::slice::from_raw_parts_mut(messages.as_mut_ptr() as *mut u8, size_of_val(&messages)) };
        let read = rustix::io::read(&self.fd, bytes).unwrap_or(0) / size_of::<Message>();
        for (slot, m) in room.iter_mut().zip(&messages[..read]) {
            *slot = (m.event == EVENT_PAGEFAULT).then_some(Fault {
                address: m.address as usize & !(super::PAGE - 1),
                write: m.flags & 1 != 0,
                protected: m.flags & 2 != 0,
            });
        }
        read
    }
}

/// `USERFAULTFD_IOC_NEW`.
struct NewFd(u32);

// SAFETY: the opcode takes its argument by value and returns a new descriptor.
unsafe impl rustix::ioctl::Ioctl for NewFd {
    type Output = OwnedFd;
    const IS_MUTATING: bool = false;
    fn opcode(&self) -> Opcode {
        NEW
    }
    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        self.0 as usize as *mut std::ffi::c_void
    }
    unsafe fn output_from_ptr(value: rustix::ioctl::IoctlOutput, _: *mut std::ffi::c_void) -> Result<OwnedFd> {
        // SAFETY: by the trait's contract, `value` is the descriptor that the call returned.
        Ok(unsafe { OwnedFd::from_raw_fd(value) })
    }
}
