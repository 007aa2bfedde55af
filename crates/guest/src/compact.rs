//! App compaction: a thread that pages out the memory of apps that have been cached for a while, as
//! Android's `CachedAppOptimizer` does. The rules are in `swaplab-apps`.
//!
//! Deviations: an app's file is mapped shared and stands for files that Android maps privately, so
//! advice for file pages is given for shared mappings, too. A compaction stops after the megabyte
//! in which its app was launched; Android's stops after a batch of mappings.

use crate::counters::now_ns;
use crate::phone::Phone;
use crate::plan::Compaction;
use crate::proc;
use crate::report::{self, Record};
use crate::sys;
use rustix::process::{pidfd_open, Pid, PidfdFlags};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::time::Duration;
use swaplab_apps::compaction::Advice;
use swaplab_vocab::AppId;

/// Interval at which apps are looked at.
const PERIOD: Duration = Duration::from_millis(100);
/// Most bytes that one system call is about.
const BATCH: u64 = 1 << 20;

/// An app that is due.
struct Due {
    app: AppId,
    id: u32,
    process: OwnedFd,
}

/// Compact apps until the machine is turned off.
pub fn watch(phone: &Mutex<Phone>, compaction: &Compaction) {
    loop {
        std::thread::sleep(PERIOD);
        // The lock is not held while pages are written: apps are launched meanwhile.
        let Ok(due) = phone.lock().map(|mut phone| due(&mut phone, compaction.after_ns)) else { return };
        for app in due {
            compact(phone, compaction, &app);
        }
    }
}

/// The apps that have been cached for `after_ns` and were not looked at since.
fn due(phone: &mut Phone, after_ns: u64) -> Vec<Due> {
    let mut found = Vec::new();
    for app in 0..phone.processes.len() as AppId {
        let at = usize::from(app);
        let Some(child) = phone.processes[at].as_ref().filter(|_| phone.launcher.is_cached(app)) else {
            (phone.cached[at].since_ns, phone.cached[at].done) = (None, false);
            continue;
        };
        let (id, cached, now_ns) = (child.id(), &mut phone.cached[at], now_ns());
        let since_ns = *cached.since_ns.get_or_insert(now_ns);
        if cached.done || now_ns < since_ns + after_ns {
            continue;
        }
        cached.done = true;
        // While the phone is locked no thread reaps the process, so the id still belongs to it.
        let process = Pid::from_raw(id as i32).map(|id| pidfd_open(id, PidfdFlags::empty()));
        if let Some(Ok(process)) = process {
            found.push(Due { app, id, process });
        }
    }
    found
}

/// Compact an app, unless the rules pass over it.
fn compact(phone: &Mutex<Phone>, compaction: &Compaction, due: &Due) {
    let Ok(last) = phone.lock().map(|phone| phone.cached[usize::from(due.app)].last) else { return };
    let last = last.filter(|(id, _)| *id == due.id).map(|(_, usage)| usage);
    let (memory, before, at_ns) = (proc::Memory::read(), proc::usage(due.id), now_ns());
    let free_swap = memory.swap_free_percentage() as f64 / 100.0;
    let (anon, file) = compaction.kinds.advice(&compaction.throttles, &before, last.as_ref(), free_swap);
    // Without swap only file pages can leave memory, whatever the rules.
    let anon = if memory.swap_total_kb > 0 { anon } else { Advice::Nothing };
    if (anon, file) == (Advice::Nothing, Advice::Nothing) {
        return;
    }
    let text = std::fs::read_to_string(format!("/proc/{}/maps", due.id)).unwrap_or_default();
    let mappings = text.lines().filter_map(mapping);
    let parts = mappings.flat_map(|(range, of_file)| batches(range).map(move |part| (part, if of_file { file } else { anon })));
    for (part, advice) in parts {
        let advice = match advice {
            Advice::Nothing => continue,
            Advice::Cold => libc::MADV_COLD,
            Advice::PageOut => libc::MADV_PAGEOUT,
        };
        // Some mappings are refused (the kernel's own, locked ones): the next one follows.
        let _ = sys::advise(due.process.as_fd(), &part, advice);
        if !phone.lock().is_ok_and(|phone| phone.launcher.is_cached(due.app)) {
            break;
        }
    }
    let (after, took_ns) = (proc::usage(due.id), now_ns() - at_ns);
    let Ok(mut phone) = phone.lock() else { return };
    phone.cached[usize::from(due.app)].last = Some((due.id, after));
    let (app, warm_up) = (phone.name(due.app), phone.warm_up);
    report::write(&Record::Compaction(report::Compaction { at_ns, took_ns, app, before, after, warm_up }));
}

/// A mapping of `/proc/PID/maps` that compaction is about: its range, and whether a file is mapped.
/// `None` for shared anonymous memory.
fn mapping(line: &str) -> Option<(Range<u64>, bool)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [range, permissions, _, _, inode, ..] = words[..] else { return None };
    let (start, end) = range.split_once('-')?;
    let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
    match (inode != "0", permissions.ends_with('p')) {
        (true, _) => Some((range, true)),
        (false, true) => Some((range, false)),
        (false, false) => None,
    }
}

/// The range in parts of at most `BATCH` bytes.
fn batches(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    (range.start..range.end).step_by(BATCH as usize).map(move |start| start..range.end.min(start + BATCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_of_files_or_private() {
        let read = |line| mapping(line).map(|(range, of_file)| (range.start, range.end, of_file));
        assert_eq!(read("7f00-9f00 rw-p 00000000 00:00 0 "), Some((0x7f00, 0x9f00, false)));
        assert_eq!(read("7f00-9f00 rw-p 00000000 00:00 0          [heap]"), Some((0x7f00, 0x9f00, false)));
        assert_eq!(read("7f00-9f00 r-xs 00000000 fd:00 12   /data/app 1"), Some((0x7f00, 0x9f00, true)));
        assert_eq!(read("7f00-9f00 rw-s 00000000 00:00 0 "), None);
        assert_eq!(read("7f00"), None);
    }

    #[test]
    fn a_range_is_cut_into_megabytes() {
        let parts: Vec<Range<u64>> = batches(4096..4096 + 2 * BATCH + 1).collect();
        assert_eq!(parts, [4096..4096 + BATCH, 4096 + BATCH..4096 + 2 * BATCH, 4096 + 2 * BATCH..4096 + 2 * BATCH + 1]);
    }
}
