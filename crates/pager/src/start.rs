//! Checks of the machine, and the start of a pager and its thread.

use crate::census::Census;
use crate::config::{uses_flash, uses_nvm, Config, Place, DIRECT, LEAST_BUDGET, LEAST_STORE};
use crate::copying::CopyEvictor;
use crate::evict::DirectEvictor;
use crate::frames::Frames;
use crate::kernel::pagemap::PageMap;
use crate::kernel::sparse::Sparse;
use crate::kernel::uffd::{self, Uffd};
use crate::kernel::{memory, own};
use crate::kernel::{Missing, PAGE, TMPFS};
use crate::managed::{self, Backing, Homes, ManagedMemory};
use crate::priority::Priority;
use crate::record::Record;
use crate::sandbox::Sandbox;
use crate::shared::Shared;
use crate::signals;
use crate::sleep::Sleeps;
use crate::spawn::{self, Answer, Thread};
use crate::stats::{set, Stats};
use crate::store::{DirectFile, Media, NvmFile, Store};
use crate::tether::Tethers;
use crate::thread::{Evictor, PagerThread, ProcessFiles, Seen};
use crate::{account, Pager, CHUNK, PAGES};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use swaplab_policy::Costs;
use swaplab_swap::SchemeSpec;

/// A started pager, or the requirement that is missing.
pub type Start = Result<Pager, Missing>;

/// Check that this machine can run a pager: open everything it needs, and close it again.
pub fn probe() -> Result<(), Missing> {
    if rustix::param::page_size() != PAGE {
        return Err(Missing::new("page size", format!("{} bytes; the pager needs 4096", rustix::param::page_size())));
    }
    Uffd::open()?;
    PageMap::open()?;
    Ok(())
}

/// Check the same as [`probe`], and that the store's files can be created.
pub fn probe_store(scheme: &SchemeSpec, place: &Place, flash: &Path) -> Result<(), Missing> {
    probe()?;
    if uses_nvm(scheme) {
        let file = open_nvm(place, PAGE)?;
        let start = own::map_file(&file, PAGE).map_err(|e| Missing::new("address space", e.to_string()))?;
        let bound = bind(place, start..start + PAGE);
        // SAFETY: mapped above, and nothing uses it.
        let _ = unsafe { own::give_back(start..start + PAGE) };
        bound?;
    }
    if uses_flash(scheme) {
        DirectFile::open(flash)?.close();
    }
    Ok(())
}

impl Pager {
    /// Reserve a managed range. The pager thread is started later, when the program has more memory
    /// than the policy may hold. Until then nothing has to be evicted, and the C library's locks
    /// are cheaper while the process has a single thread.
    pub fn new(config: Config, stats: &'static Stats) -> Start {
        probe()?;
        if config.budget_bytes < LEAST_BUDGET {
            return Err(Missing::new("budget", format!("{} bytes; at least {LEAST_BUDGET} are needed", config.budget_bytes)));
        }
        begin(stats, &config);
        spawn::find_count();
        // A record begins with the first page.
        let allowance = if config.record.is_some() { 0 } else { config.frames() };
        let managed = ManagedMemory::new((config.range_bytes / PAGE).next_multiple_of(CHUNK), allowance, stats)?;
        let (shared, sandbox) = (Arc::new(Shared::new(managed)), Sandbox::of_this_thread());
        Ok(Pager { shared, config, runs: AtomicBool::new(false), thread: Mutex::new(None), sandbox })
    }

    /// Start the pager thread, if it does not run yet, and wait for its first census. After a
    /// failure, later calls do nothing.
    pub fn run(&self) -> Result<(), Missing> {
        let mut running = self.thread.lock().unwrap_or_else(|e| e.into_inner());
        let is_child = {
            let managed = self.lock_managed();
            if !managed.can_start_thread() {
                return Ok(());
            }
            managed.mode == managed::Mode::Child
        };
        let begun = if is_child { self.begin_anew() } else { Ok(()) };
        // The record is the parent's.
        let record = self.config.record.clone().filter(|_| !is_child);
        match begun.and_then(|()| self.start_thread(record)) {
            Err(missing) => {
                self.lock_managed().allowance = usize::MAX;
                Err(missing)
            }
            Ok(thread) => {
                self.runs.store(true, Ordering::Relaxed);
                *running = Some(thread);
                drop(running);
                self.update_counters();
                Ok(())
            }
        }
    }

    /// Page this forked child as a process of its own. Only one thread may call this.
    fn begin_anew(&self) -> Result<(), Missing> {
        let Some(child_stats) = self.config.child_stats else { return Err(Missing::new("counters", "of a forked child")) };
        if Sandbox::of_this_thread() != self.sandbox {
            return Err(Missing::new("system calls", "the program forbids itself some (seccomp)"));
        }
        let stats = child_stats()?;
        begin(stats, &self.config);
        self.shared.begin_anew(stats);
        self.lock_managed().begin_anew(stats);
        Ok(())
    }

    /// Start the thread, and wait until it is ready. `record`: see [`Config::record`].
    fn start_thread(&self, record: Option<PathBuf>) -> Result<Thread, Missing> {
        // The thread opens its files itself, in its own descriptor table, and reports whether that
        // succeeded.
        let ready = Arc::new(Answer::new());
        let config = Config { record, ..self.config.clone() };
        let (answer, shared, stats) = (ready.clone(), self.shared.clone(), self.shared.stats());
        let spawned = {
            // The new thread inherits the signal mask: only the program's threads handle the
            // program's signals.
            let _blocked = signals::Blocked::all();
            Thread::spawn(c"swaplab-pager", move || match prepare(&config, &shared) {
                Err(missing) => answer.give(Err(missing)),
                Ok(thread) => {
                    answer.give(Ok(()));
                    thread.run(&shared);
                    stats.state.store(2, Ordering::Release);
                }
            })
        };
        let thread = spawned.map_err(|e| Missing::new("a thread", e.to_string()))?;
        match ready.wait() {
            Ok(()) => Ok(thread),
            Err(missing) => {
                thread.join();
                Err(missing)
            }
        }
    }
}

/// Write the counters that do not change.
fn begin(stats: &Stats, config: &Config) {
    set(&stats.pid, std::process::id() as usize);
    set(&stats.dram_limit_bytes, config.budget_bytes);
    set(&stats.policy_frames, config.frames());
    set(&stats.state, 1);
}

/// Open everything that the pager thread needs, and set its store, policy and record.
fn prepare(config: &Config, shared: &Shared) -> Result<PagerThread, Missing> {
    // First of all, so that no allocation of this thread is served from managed memory.
    // SAFETY: only reads this thread's identity.
    (config.started)(unsafe { libc::pthread_self() } as usize);
    isolate_thread();
    let priority = Priority::raise();
    let failed = |what: &'static str| move |e: Errno| Missing::new(what, e.to_string());
    // Number of pages in the store's file.
    let pages = shared.lock().spans.reserved().len();
    let (uffd, map) = (Uffd::open()?, PageMap::open()?);
    let census = Census::new(PageMap::open()?).map_err(failed("address space"))?;
    let budget = config.budget_bytes / PAGE;
    let frames = config.frames();
    let (backing, evictor) = match config.scheme.entry.key {
        DIRECT => {
            let limit = config.store_bytes.map_or(u32::MAX, |b| (b / PAGE) as u32);
            let file = open_nvm(&config.place, pages * PAGE)?;
            let mirror = own::map_file(&file, pages * PAGE).map_err(failed("address space"))?;
            bind(&config.place, mirror..mirror + pages * PAGE)?;
            // SAFETY: zero is a u32.
            let home = unsafe { Sparse::new(PAGES / CHUNK) }.map_err(failed("address space"))?;
            let homes = Homes {
                next: 0,
                free: Vec::new(),
                frozen: Vec::new(),
                reserved: matches!(config.place, Place::Directory(_)),
                limit: ((limit as usize / CHUNK).min(pages / CHUNK)) as u32,
            };
            let evictor = DirectEvictor::new(uffd, file, map, config.protect);
            (Backing::Direct { mirror, home, homes }, Evictor::Direct(evictor))
        }
        _ => {
            let bytes = config.store_bytes.unwrap_or(0).max(16 * config.budget_bytes).max(LEAST_STORE);
            // Pages that are swapped in while others are evicted have numbers too.
            let most = (bytes / PAGE).min(pages) + CHUNK;
            let nvm = if uses_nvm(&config.scheme) { Some(NvmFile::new(open_nvm(&config.place, bytes)?)) } else { None };
            let flash = if uses_flash(&config.scheme) { Some(DirectFile::open(&config.flash)?) } else { None };
            config.medium.calibrate();
            let store = Store::new(&config.sized_scheme()?, most, frames, Media::new(nvm, flash), config.medium)?;
            (Backing::Copying(Box::new(store)), Evictor::Copying(CopyEvictor::new(uffd, map)))
        }
    };
    let (read, write) = (config.medium.read_ns.max(1), config.medium.write_ns.max(1));
    let costs = Costs { swap_read_ns: read, swap_write_ns: write, file_read_ns: read, file_write_ns: write };
    let frames_of_policy = Frames::new(config.policy.clone(), frames, costs)?;
    let record = config.record.as_ref().map(|path| {
        let failed = |e: Errno| Missing::new("record", format!("{}: {e}", path.display()));
        Record::create(path).map_err(failed)
    });
    let statm = account::open_statm().map_err(failed("/proc/self/statm"))?;
    let elsewhere = PageMap::open()?;
    let tasks =
        rustix::fs::open("/proc/self/task", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(failed("/proc/self/task"))?;
    let (tethers, seen) = (Tethers::new(), Seen::default());
    let record = record.transpose()?;
    let mut managed = shared.lock();
    (managed.backing, managed.frames, managed.record) = (backing, Some(frames_of_policy), record);
    Ok(PagerThread {
        evictor,
        census,
        elsewhere,
        process: ProcessFiles { statm, tasks },
        tethers,
        budget,
        frames,
        victims: Vec::new(),
        waiting: VecDeque::new(),
        seen,
        surge: budget / 8,
        sleeps: Sleeps::new(),
        priority,
        scattered: false,
        full: false,
    })
}

/// Give this thread its own descriptor table, and block all signals.
fn isolate_thread() {
    let device = uffd::inherited().map(|number| number as u32);
    // SAFETY: this thread has opened no descriptor yet, and its code uses none of the program's.
    unsafe {
        if rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FILES).is_ok() {
            // Keep standard error, for the message before an abort, and an inherited
            // /dev/userfaultfd, which may be the only way to a userfaultfd.
            libc::syscall(libc::SYS_close_range, 0, 1, 0);
            if let Some(device) = device.filter(|number| *number > 3) {
                libc::syscall(libc::SYS_close_range, 3, device - 1, 0);
            }
            libc::syscall(libc::SYS_close_range, device.map_or(3, |number| number + 1), u32::MAX, 0);
        }
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}

/// Bind the memory of a mapped NVM file to the NUMA node of `place`, if it names one.
fn bind(place: &Place, range: memory::Bytes) -> Result<(), Missing> {
    match place {
        Place::Node(node) => memory::bind_to_node(range, *node).map_err(|e| Missing::new("NUMA node", format!("node:{node}: {e}"))),
        Place::Memory | Place::Directory(_) => Ok(()),
    }
}

fn open_nvm(place: &Place, len: usize) -> Result<OwnedFd, Missing> {
    let failed = |e: Errno| Missing::new("NVM file", e.to_string());
    let file = match place {
        Place::Memory | Place::Node(_) => {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let file = rustix::fs::memfd_create(c"swaplab-nvm", flags).map_err(failed)?;
            rustix::fs::ftruncate(&file, len as u64).map_err(failed)?;
            // Another process could open the file through /proc and truncate it; the seal prevents
            // that.
            rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK).map_err(failed)?;
            file
        }
        Place::Directory(path) => {
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
                .map_err(|e| Missing::new("NVM directory", format!("{}: {e}; a directory of a tmpfs is expected", path.display())))?;
            if rustix::fs::fstatfs(&file).map_err(failed)?.f_type as i64 != TMPFS {
                return Err(Missing::new(
                    "NVM directory",
                    format!("{}: not a tmpfs; the kernel can write-protect private mappings of shared memory only", path.display()),
                ));
            }
            rustix::fs::ftruncate(&file, len as u64).map_err(failed)?;
            file
        }
    };
    Ok(file)
}
