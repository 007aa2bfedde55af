//! Sets up the machine: the kernel's file systems, modules, settings, the apps' files and swap.

use crate::counters::now_ns;
use crate::plan::{Plan, Setting, Swap};
use crate::sys;
use rustix::fs::sync;
use rustix::mount::{mount, MountFlags};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;
use swaplab_vocab::{BadInput, Result, PAGE_SIZE};

/// The directory of the apps' files.
pub const DATA: &str = "/data";
const PAGE: usize = PAGE_SIZE as usize;

/// Mount the kernel's own file systems. A failure is ignored here; a later step that needs the file
/// system fails.
pub fn mounts() {
    let kinds = [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("cgroup2", "/sys/fs/cgroup"),
        ("configfs", "/sys/kernel/config"),
        ("debugfs", "/sys/kernel/debug"),
        ("tracefs", "/sys/kernel/tracing"),
    ];
    for (kind, at) in kinds {
        let _ = fs::create_dir_all(at);
        let _ = mount(kind, at, kind, MountFlags::empty(), None);
    }
}

/// Load the plan's kernel modules.
pub fn modules(plan: &Plan) -> Result<()> {
    for module in &plan.modules {
        let bad = |error| BadInput::io(format!("module {}", module.path), error);
        let file = File::open(&module.path).map_err(bad)?;
        sys::load_module(&file, &module.options).map_err(bad)?;
    }
    Ok(())
}

/// Make the plan's directories.
pub fn directories(plan: &Plan) -> Result<()> {
    plan.directories.iter().try_for_each(|path| fs::create_dir(path).map_err(|error| BadInput::io(path.as_str(), error)))
}

/// Add the plan's partitions.
pub fn partitions(plan: &Plan) -> Result<()> {
    for part in &plan.partitions {
        await_device(&part.device)?;
        let bad = |error| BadInput::io(format!("partition {} of {}", part.number, part.device), error);
        let file = OpenOptions::new().read(true).open(&part.device).map_err(bad)?;
        sys::add_partition(&file, part).map_err(bad)?;
    }
    Ok(())
}

/// Write settings to the kernel's files.
pub fn settings(settings: &[Setting]) -> Result<()> {
    for setting in settings {
        match fs::write(&setting.path, &setting.value) {
            Err(error) if setting.required => return Err(BadInput::io(format!("{} = {}", setting.path, setting.value), error)),
            _ => {}
        }
    }
    Ok(())
}

/// Mount the file system and write the apps' files.
pub fn file_system(plan: &Plan) -> Result<()> {
    fs::create_dir_all(DATA).map_err(|error| BadInput::io(DATA, error))?;
    if let Some(wanted) = &plan.file_system {
        await_device(&wanted.device)?;
        let bad = |error| BadInput::io(format!("file system on {}", wanted.device), error);
        if let Some(image) = &wanted.image {
            unpack(image, &wanted.device).map_err(bad)?;
            fs::remove_file(image).map_err(bad)?;
        }
        mount(&*wanted.device, DATA, &*wanted.kind, MountFlags::NOATIME, None).map_err(|error| bad(error.into()))?;
    }
    for (name, feature) in plan.processes() {
        let path = data_of(name);
        swaplab_app::write_data(&feature.shape()?, Path::new(&path)).map_err(|error| BadInput::io(path, error))?;
    }
    sync();
    // Drop the files just written from the page cache, as after a phone's boot.
    fs::write("/proc/sys/vm/drop_caches", "1").map_err(|error| BadInput::io("/proc/sys/vm/drop_caches", error))
}

/// The path of an app's file.
pub fn data_of(app: &str) -> String {
    format!("{DATA}/{app}")
}

/// Write a file system's blocks to a device. Zeros are written everywhere first, so that a device
/// in the guest's memory has allocated all of it.
fn unpack(image: &str, device: &str) -> io::Result<()> {
    let mut to = OpenOptions::new().write(true).open(device)?;
    let size = to.seek(SeekFrom::End(0))?;
    for number in 0..size / PAGE_SIZE {
        to.write_all_at(&[0; PAGE], number * PAGE_SIZE)?;
    }
    for pair in fs::read(image)?.chunks_exact(8 + PAGE) {
        let number = pair[..8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        to.write_all_at(&pair[8..], number * PAGE_SIZE)?;
    }
    to.sync_all()
}

/// Make and turn on the plan's swap area.
pub fn swap(plan: &Plan) -> Result<()> {
    let Some(wanted) = &plan.swap else { return Ok(()) };
    if !Path::new("/proc/swaps").exists() {
        return Err(BadInput::new("kernel", "no /proc/swaps", "a kernel with CONFIG_SWAP"));
    }
    await_device(&wanted.device)?;
    settings(&wanted.settings)?;
    make_swap(wanted).map_err(|error| BadInput::io(format!("swap on {}", wanted.device), error))?;
    sys::swap_on(&wanted.device)
}

/// Write the header of a swap area, like mkswap.
fn make_swap(wanted: &Swap) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(&wanted.device)?;
    let device_bytes = file.seek(SeekFrom::End(0))?;
    let size = wanted.bytes.map_or(device_bytes, |bytes| bytes.min(device_bytes));
    if wanted.fill {
        // Write a pattern, as a device such as zram allocates no memory for zeros.
        let page: Vec<u8> = (0..PAGE).map(|at| (at * 31 + 7) as u8).collect();
        for number in 0..size / PAGE_SIZE {
            file.write_all_at(&page, number * PAGE_SIZE)?;
        }
    }
    let mut header = [0; PAGE];
    header[1024..1028].copy_from_slice(&1u32.to_le_bytes());
    header[1028..1032].copy_from_slice(&((size / PAGE_SIZE - 1) as u32).to_le_bytes());
    header[PAGE - 10..].copy_from_slice(b"SWAPSPACE2");
    file.rewind()?;
    file.write_all(&header)?;
    file.sync_all()?;
    fs::write("/proc/sys/vm/drop_caches", "1")
}

/// Wait until a device exists, at most 1 s: it appears shortly after its module is loaded.
fn await_device(device: &str) -> Result<()> {
    for _ in 0..100 {
        if Path::new(device).exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(BadInput::new("kernel", format!("no {device}"), "a kernel with a driver for it"))
}

/// Wait, at most 10 s, until the kernel has finished its deferred boot work, which would delay the
/// first apps. Then wait for the next whole second of the clock, so that boots of different lengths
/// end at the same time.
pub fn settle() {
    let idle = || {
        let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
        text.split_whitespace().nth(1).and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0)
    };
    for _ in 0..20 {
        let before = idle();
        std::thread::sleep(Duration::from_millis(500));
        if idle() - before >= 0.49 {
            break;
        }
    }
    const SECOND_NS: u64 = 1_000_000_000;
    let now = now_ns();
    std::thread::sleep(Duration::from_nanos(now.next_multiple_of(SECOND_NS) - now));
}
