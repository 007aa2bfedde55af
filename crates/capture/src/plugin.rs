//! The QEMU plugin: callbacks for every block, access and system call of the guest.
//!
//! `qemu-x86_64 -plugin
//! libswaplab_capture_plugin.so,ring=PATH[,filter=N][,max=N][,l1=BYTES,ll=BYTES] PROGRAM`. The
//! guest's memory is part of QEMU's memory at a fixed offset (mostly 0), so `/proc/self` describes
//! the guest.
//!
//! Most references are to the page of the previous reference. With a filter and without caches,
//! these are only counted, without a lock: the filter's head is an atomic word. All others take the
//! recorder's lock, so there is a single order of references over all threads.

use crate::cache::CacheSizes;
use crate::maps::Process;
use crate::qemu::{self, Api, Info, MemoryInfo, PluginId};
use crate::recorder::{Limits, Recorder, NO_HEAD};
use crate::ring::Ring;
use crate::stream::Reason;
use crate::syscall::{self, Arch, DataEnd};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, OnceLock};
use swaplab_vocab::Op;

/// The API version of this plugin, which QEMU checks first: 1 up to QEMU 8.2, which refuses higher
/// ones, and 2 from QEMU 9.0, which refuses lower ones. What is used here is the same in both.
#[no_mangle]
#[used]
#[allow(non_upper_case_globals)] // QEMU's name
pub static qemu_plugin_version: AtomicI32 = AtomicI32::new(1);

/// Called as the library is loaded, before QEMU reads the version.
#[used]
#[link_section = ".init_array"]
static ON_LOAD: extern "C" fn() = choose_version;

extern "C" fn choose_version() {
    if qemu::has_version_2() {
        qemu_plugin_version.store(2, Ordering::Relaxed);
    }
}

/// Number of counters. If a program has more threads, some share a counter, and the count may be
/// too low.
const COUNTERS: usize = 4096;
/// Number of references of a thread after which the recorder processes marks, labels and the limit,
/// even if all references hit.
const TICK: u64 = 1 << 16;

#[repr(align(64))]
struct Counter(AtomicU64);

struct Plugin {
    api: Api,
    arch: Arch,
    /// Whether to record; false in a forked child, and after the front end has ended or the
    /// recording is complete.
    live: AtomicBool,
    /// The page of the previous reference, as `Recorder::head` returns it: its number shifted left
    /// by one, plus 1 if it was written.
    head: AtomicU64,
    counters: Vec<Counter>,
    /// Number of counters in use: the highest index of a thread plus one.
    used_counters: AtomicUsize,
    recorder: Mutex<(Recorder<Ring>, DataEnd)>,
    /// Done once the offset of the guest's memory is known.
    base_known: Once,
    blocks: Mutex<HashMap<BlockCode, &'static BlockCode>>,
}

/// Location of a translated block's code.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct BlockCode {
    address: u64,
    length: u64,
    instructions: u64,
}

static PLUGIN: OnceLock<Plugin> = OnceLock::new();

thread_local! {
    static ARGUMENTS: Cell<[u64; 6]> = const { Cell::new([0; 6]) };
}

impl Plugin {
    /// Count `n` references of a thread. Returns whether the recorder should process marks, labels
    /// and the limit.
    #[inline]
    fn count(&self, thread: c_uint, n: u64) -> bool {
        // Each thread writes only its own counter; other threads read it.
        let counter = &self.counters[thread as usize % COUNTERS].0;
        let before = counter.load(Ordering::Relaxed);
        counter.store(before + n, Ordering::Relaxed);
        before / TICK != (before + n) / TICK
    }

    /// References of all threads so far.
    fn references(&self) -> u64 {
        let used = self.used_counters.load(Ordering::Relaxed).min(COUNTERS);
        self.counters[..used].iter().map(|c| c.0.load(Ordering::Relaxed)).sum()
    }

    #[inline]
    fn reference(&self, thread: c_uint, op: Op, address: u64, length: u64, count: u64) {
        let due = self.count(thread, count);
        let page = address >> 12;
        let head = self.head.load(Ordering::Relaxed);
        let known = head >> 1 == page && (head & 1 == 1 || op != Op::Write) && address.saturating_add(length - 1) >> 12 == page;
        if !known || due {
            self.record(thread, |(recorder, _)| recorder.touch(op, address, length));
        }
    }

    #[cold]
    #[inline(never)]
    fn record(&self, thread: c_uint, action: impl FnOnce(&mut (Recorder<Ring>, DataEnd))) {
        if !self.live.load(Ordering::Relaxed) {
            return;
        }
        self.used_counters.fetch_max(thread as usize + 1, Ordering::Relaxed);
        let mut state = self.recorder.lock().expect("the recorder does not panic");
        state.0.progress(self.references());
        if state.0.is_open() {
            action(&mut state);
        }
        self.head.store(state.0.head(), Ordering::Relaxed);
        if !state.0.is_open() {
            self.live.store(false, Ordering::Relaxed);
        }
    }
}

fn plugin() -> &'static Plugin {
    PLUGIN.get().expect("callbacks are registered after the plugin is set")
}

extern "C" fn block_runs(thread: c_uint, block: *mut c_void) {
    // SAFETY: the pointer given at registration, to a block that is never freed.
    let block = unsafe { &*(block as *const BlockCode) };
    plugin().reference(thread, Op::Fetch, block.address, block.length, block.instructions);
}

extern "C" fn memory_accessed(thread: c_uint, info: MemoryInfo, address: u64, _: *mut c_void) {
    let plugin = plugin();
    // SAFETY: QEMU's own functions on the value QEMU gave to this callback.
    let (op, length) = unsafe { (if (plugin.api.is_store)(info) { Op::Write } else { Op::Read }, 1 << (plugin.api.size_shift)(info)) };
    plugin.reference(thread, op, address, length, 1);
}

extern "C" fn block_translated(_: PluginId, block: *mut qemu::Block) {
    let plugin = plugin();
    let api = &plugin.api;
    // SAFETY: `block` and its instructions live for this callback; indices are below the count QEMU
    // gives.
    unsafe {
        let count = (api.block_instructions)(block);
        if count == 0 {
            return;
        }
        let instruction = (api.block_instruction)(block, 0);
        let first = (api.instruction_address)(instruction);
        plugin.base_known.call_once(|| {
            let base = ((api.instruction_host_address)(instruction) as u64).wrapping_sub(first);
            plugin.recorder.lock().expect("the recorder does not panic").0.process.base = base;
        });
        let last = (api.block_instruction)(block, count - 1);
        let end = (api.instruction_address)(last) + (api.instruction_size)(last) as u64;
        let code = BlockCode { address: first, length: end.saturating_sub(first).max(1), instructions: count as u64 };
        // QEMU translates the same code repeatedly. Each code has one entry, which is never freed
        // because QEMU keeps a pointer to it.
        let code: &'static BlockCode =
            plugin.blocks.lock().expect("nothing here panics").entry(code).or_insert_with(|| Box::leak(Box::new(code)));
        (api.on_execution)(block, block_runs, qemu::NO_REGISTERS, code as *const BlockCode as *mut c_void);
        for i in 0..count {
            let instruction = (api.block_instruction)(block, i);
            (api.on_access)(instruction, memory_accessed, qemu::NO_REGISTERS, qemu::READS_AND_WRITES, std::ptr::null_mut());
        }
    }
}

#[allow(clippy::too_many_arguments)] // QEMU's signature
extern "C" fn call_begins(_: PluginId, thread: c_uint, number: i64, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, _: u64, _: u64) {
    let args = [a, b, c, d, e, f];
    ARGUMENTS.set(args);
    // A call that replaces the program returns only if it fails.
    if syscall::call(plugin().arch, number as u64) == Some(syscall::Call::Exec) {
        plugin().record(thread, |(recorder, _)| recorder.finish(Reason::Exec));
    }
}

extern "C" fn call_returns(_: PluginId, thread: c_uint, number: i64, result: i64) {
    let plugin = plugin();
    if let Some(call) = syscall::call(plugin.arch, number as u64) {
        plugin.record(thread, |(recorder, data_end)| syscall::apply(call, &ARGUMENTS.get(), result, data_end, recorder));
    }
}

extern "C" fn program_exits(_: PluginId, _: *mut c_void) {
    plugin().record(0, |(recorder, _)| recorder.finish(Reason::Exit));
}

extern "C" fn child_forked() {
    // The child shares the ring; its pages are not the traced program's.
    if let Some(plugin) = PLUGIN.get() {
        plugin.live.store(false, Ordering::Relaxed);
    }
}

fn install(info: &Info, arguments: &[String]) -> Result<Plugin, String> {
    // SAFETY: QEMU hands over its target's name as a constant string.
    let target = unsafe { qemu::text(info.target_name) };
    let arch = match target.as_deref() {
        Some("x86_64") => Arch::X86_64,
        Some("aarch64") => Arch::Aarch64,
        other => return Err(format!("the target {other:?} is neither x86_64 nor aarch64")),
    };
    let mut limits = Limits::default();
    let mut sizes = CacheSizes { first: 0, last: 0 };
    let mut ring = None;
    for argument in arguments {
        let (key, value) = argument.split_once('=').ok_or_else(|| format!("'{argument}' is not KEY=VALUE"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("the value of '{argument}' is not a number"));
        match key {
            "ring" => ring = Some(Ring::open(value).map_err(|e| format!("ring {value}: {e}"))?),
            "filter" => limits.filter = number()? as usize,
            "max" => limits.max = Some(number()?),
            "l1" => sizes.first = number()?,
            "ll" => sizes.last = number()?,
            _ => return Err(format!("unknown argument '{key}'")),
        }
    }
    if (sizes.first > 0) != (sizes.last > 0) {
        return Err("l1 without ll, or ll without l1".into());
    }
    limits.caches = (sizes.first > 0).then_some(sizes);
    let api = Api::load().map_err(|name| format!("this QEMU has no {name}"))?;
    let recorder = Recorder::new(ring.ok_or("no ring=PATH")?, Process::own(), limits);
    Ok(Plugin {
        api,
        arch,
        live: AtomicBool::new(true),
        head: AtomicU64::new(NO_HEAD),
        counters: (0..COUNTERS).map(|_| Counter(AtomicU64::new(0))).collect(),
        used_counters: AtomicUsize::new(0),
        recorder: Mutex::new((recorder, DataEnd::default())),
        base_known: Once::new(),
        blocks: Mutex::default(),
    })
}

/// QEMU calls this once, before the program starts.
///
/// # Safety
/// `info` and `argc` strings at `argv` are valid for the call, as QEMU's plugin loader has them.
#[no_mangle]
pub unsafe extern "C" fn qemu_plugin_install(id: PluginId, info: *const Info, argc: c_int, argv: *const *const c_char) -> c_int {
    // SAFETY: promised by the caller.
    let arguments = unsafe { (0..argc as usize).filter_map(|i| qemu::text(*argv.add(i))).collect::<Vec<_>>() };
    // SAFETY: promised by the caller.
    let plugin = match install(unsafe { &*info }, &arguments) {
        Ok(plugin) => plugin,
        Err(why) => {
            eprintln!("swaplab trace capture: {why}");
            return -1;
        }
    };
    let api = plugin.api;
    if PLUGIN.set(plugin).is_err() {
        eprintln!("swaplab trace capture: the plugin is loaded twice");
        return -1;
    }
    // SAFETY: QEMU's registration functions, with callbacks of the declared types that stay for the
    // process's life.
    unsafe {
        libc::pthread_atfork(None, None, Some(child_forked));
        (api.on_translation)(id, block_translated);
        (api.on_call)(id, call_begins);
        (api.on_return)(id, call_returns);
        (api.on_exit)(id, program_exits, std::ptr::null_mut());
    }
    0
}
