//! Reads the kernel's figures from /proc and /sys. Names end with their unit (`_kb`, `_ns`, `_us`);
//! counts of pages have no unit.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use swaplab_apps::compaction::Usage;
use swaplab_vocab::PAGE_SIZE;

/// Read a file; the text is empty if this kernel has no such file.
fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Parse the words of a text as numbers. Other words count as 0.
fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect()
}

/// Read the sizes in /proc/meminfo, in bytes by name. A size that the guest uses and this kernel
/// does not report is 0.
pub fn meminfo() -> BTreeMap<String, u64> {
    let text = read("/proc/meminfo");
    let absent = ["MemTotal", "MemAvailable", "SwapTotal"].map(|key| (key.to_owned(), 0));
    let rows = text.lines().filter_map(|line| {
        let (key, rest) = line.split_once(':')?;
        Some((key.to_owned(), numbers(rest).first()? * 1024))
    });
    absent.into_iter().chain(rows).collect()
}

/// The use of memory at one moment, of the machine or of a control group.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Memory {
    pub free_kb: u64,
    /// Free pages on the lists that each processor allocates from (`struct per_cpu_pages`). They
    /// are not part of `MemFree`. 0 until `with_pools`.
    pub per_cpu_free_kb: u64,
    /// Page cache that reclaim can drop: without shared memory. `Cached` does not include the swap
    /// cache (fs/proc/meminfo.c).
    pub file_kb: u64,
    pub anonymous_kb: u64,
    pub dirty_kb: u64,
    pub swap_total_kb: u64,
    pub swap_free_kb: u64,
    /// The first three figures of zram's `mm_stat`, in bytes: stored, compressed, memory used.
    /// `None` without zram.
    pub zram: Option<[u64; 3]>,
}

impl Memory {
    /// Read the machine's memory, without the figures of `with_pools`, which the killer does not
    /// need.
    pub fn read() -> Memory {
        let all = meminfo();
        let kb = |key: &str| all.get(key).map_or(0, |bytes| bytes / 1024);
        Memory {
            free_kb: kb("MemFree"),
            per_cpu_free_kb: 0,
            file_kb: (kb("Cached") + kb("Buffers")).saturating_sub(kb("Shmem")),
            anonymous_kb: kb("AnonPages"),
            dirty_kb: kb("Dirty"),
            swap_total_kb: kb("SwapTotal"),
            swap_free_kb: kb("SwapFree"),
            zram: None,
        }
    }

    /// Read the memory of a control group that is limited to `limit` bytes. Swap is still the
    /// machine's.
    pub fn of_group(group: &Path, limit: u64) -> Memory {
        let (used, stat) = (numbers(&read(group.join("memory.current"))), read(group.join("memory.stat")));
        let kb = |key: &str| stat.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok()).unwrap_or(0) / 1024;
        let free_kb = limit.saturating_sub(used.first().copied().unwrap_or(0)) / 1024;
        let file_kb = kb("active_file ") + kb("inactive_file ");
        Memory { free_kb, file_kb, anonymous_kb: kb("anon "), dirty_kb: kb("file_dirty "), ..Memory::read() }
    }

    /// Add zram's figures and the pages on the processors' own lists.
    pub fn with_pools(self) -> Memory {
        let stat = numbers(&read("/sys/block/zram0/mm_stat"));
        let zram = (stat.len() > 2).then(|| [stat[0], stat[1], stat[2]]);
        let per_cpu_free_kb = parse_per_cpu_pages(&read("/proc/zoneinfo")) * (PAGE_SIZE / 1024);
        Memory { zram, per_cpu_free_kb, ..self }
    }

    /// Free swap in percent; 100 without swap, so that no rule of a killer considers swap to be
    /// low.
    pub fn swap_free_percentage(&self) -> u64 {
        (100 * self.swap_free_kb).checked_div(self.swap_total_kb).unwrap_or(100)
    }
}

/// The kernel's watermarks, summed over all zones, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Watermarks {
    pub min: u64,
    pub low: u64,
    pub high: u64,
}

/// Read the kernel's watermarks.
pub fn watermarks() -> Watermarks {
    parse_watermarks(&read("/proc/zoneinfo"))
}

fn parse_watermarks(text: &str) -> Watermarks {
    let mut sums = Watermarks::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [key, value] = words[..] {
            let value: u64 = value.parse().unwrap_or(0);
            match key {
                "min" => sums.min += value,
                "low" => sums.low += value,
                "high" => sums.high += value,
                _ => {}
            }
        }
    }
    sums
}

/// Number of free pages on the processors' own lists, summed over all zones and processors.
fn parse_per_cpu_pages(text: &str) -> u64 {
    text.lines().filter_map(|line| line.trim().strip_prefix("count:")?.trim().parse::<u64>().ok()).sum()
}

/// The totals of one PSI file since the machine started, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    pub some_us: u64,
    pub full_us: u64,
}

/// Read the average of complete stalls over ten seconds, in percent.
pub fn full_avg10(path: impl AsRef<Path>) -> f64 {
    parse_full_avg10(&read(path)).unwrap_or(0.0)
}

fn parse_full_avg10(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("full"))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()
}

impl Pressure {
    pub fn read(path: impl AsRef<Path>) -> Pressure {
        Pressure::parse(&read(path))
    }

    fn parse(text: &str) -> Pressure {
        let total = |kind: &str| {
            let line = text.lines().find(|line| line.starts_with(kind))?;
            line.rsplit_once("total=")?.1.trim().parse().ok()
        };
        Pressure { some_us: total("some").unwrap_or(0), full_us: total("full").unwrap_or(0) }
    }
}

/// Read the event counts of /proc/vmstat by name, without its current levels, whose names begin
/// with `nr_`.
pub fn vmstat() -> BTreeMap<String, u64> {
    counts("/proc/vmstat")
}

/// Read a file with a name and a number on each line, without names that begin with `nr_`.
pub fn counts(path: impl AsRef<Path>) -> BTreeMap<String, u64> {
    let text = read(path);
    let rows = text.lines().filter(|line| !line.starts_with("nr_")).filter_map(|line| line.split_once(' '));
    rows.map(|(key, value)| (key.to_owned(), value.trim().parse().unwrap_or(0))).collect()
}

/// Processor time and page faults of one process so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Process {
    pub cpu_ns: u64,
    /// Time in which the process was runnable but did not run.
    pub run_delay_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

impl Process {
    pub fn read(id: u32) -> Process {
        let (schedule, status) = (numbers(&read(format!("/proc/{id}/schedstat"))), read(format!("/proc/{id}/stat")));
        // The name in parentheses can contain spaces. The fields after it are the state and
        // numbers.
        let fields = numbers(status.rsplit_once(')').map_or("", |(_, rest)| rest));
        let at = |list: &[u64], index: usize| list.get(index).copied().unwrap_or(0);
        Process { cpu_ns: at(&schedule, 0), run_delay_ns: at(&schedule, 1), minor_faults: at(&fields, 7), major_faults: at(&fields, 9) }
    }

    /// The difference to an earlier reading.
    pub fn since(&self, before: &Process) -> Process {
        Process {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            run_delay_ns: self.run_delay_ns.saturating_sub(before.run_delay_ns),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
        }
    }
}

/// Read the size of a process's resident set in kB.
pub fn resident_kb(id: u32) -> u64 {
    numbers(&read(format!("/proc/{id}/statm"))).get(1).map_or(0, |pages| pages * 4)
}

/// Read where the memory of a process is, in kB. It is 0 for a process that has ended.
pub fn usage(id: u32) -> Usage {
    let text = read(format!("/proc/{id}/status"));
    let kb = |key: &str| text.lines().find_map(|line| numbers(line.strip_prefix(key)?).first().copied()).unwrap_or(0);
    Usage { anon_kb: kb("RssAnon:"), file_kb: kb("RssFile:"), swap_kb: kb("VmSwap:") }
}

/// Processor time and stall times (PSI) of a control group so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Waits {
    pub user_ns: u64,
    pub system_ns: u64,
    /// Stall time for memory: reclaim, swap-ins and refaults.
    pub memory_ns: u64,
    /// Stall time for block devices.
    pub io_ns: u64,
    /// Stall time for a processor.
    pub cpu_ns: u64,
}

impl Waits {
    pub fn read(group: &Path) -> Waits {
        let time = read(group.join("cpu.stat"));
        let us = |key: &str| time.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok()).unwrap_or(0);
        let pressure = |name: &str| Pressure::read(group.join(name)).some_us * 1000;
        Waits {
            user_ns: us("user_usec ") * 1000,
            system_ns: us("system_usec ") * 1000,
            memory_ns: pressure("memory.pressure"),
            io_ns: pressure("io.pressure"),
            cpu_ns: pressure("cpu.pressure"),
        }
    }

    /// The difference to an earlier reading.
    pub fn since(&self, before: &Waits) -> Waits {
        Waits {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            memory_ns: self.memory_ns.saturating_sub(before.memory_ns),
            io_ns: self.io_ns.saturating_sub(before.io_ns),
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
        }
    }
}

/// Read MGLRU's generations of a control group, oldest first: age in ms, anonymous pages,
/// file-backed pages. Empty without MGLRU.
pub fn generations(group: &str) -> Vec<[i64; 3]> {
    parse_generations(&read("/sys/kernel/debug/lru_gen"), group)
}

fn parse_generations(text: &str, group: &str) -> Vec<[i64; 3]> {
    let from_group = text.lines().skip_while(|line| !line.starts_with("memcg") || line.split_whitespace().nth(2) != Some(group));
    let rows = from_group.skip(1).take_while(|line| !line.starts_with("memcg"));
    // A generation has four numbers. A debug kernel adds lines with other counts of numbers.
    let generation = |line: &str| -> Option<[i64; 3]> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, age, anonymous, file] = words[..] else { return None };
        Some([age.parse().ok()?, anonymous.parse().ok()?, file.parse().ok()?])
    };
    rows.filter_map(generation).collect()
}

/// Find the id of the process with this name, such as `kswapd0`.
pub fn find(name: &str) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let mut ids: Vec<u32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids.into_iter().find(|id| read(format!("/proc/{id}/comm")).trim() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watermarks_are_summed_over_zones() {
        let text = "Node 0, zone DMA\n  pages free 5\n        boost    0\n        min      10\n        low      12\n        high     15\n\
                    Node 0, zone Normal\n  pages free 5\n        min      1\n        low      2\n        high     3\n      high: 7\n";
        assert_eq!(parse_watermarks(text), Watermarks { min: 11, low: 14, high: 18 });
    }

    #[test]
    fn per_cpu_pages_are_summed_over_zones_and_processors() {
        let text = "Node 0, zone DMA\n  pages free 5\n  pagesets\n    cpu: 0\n              count: 12\n              high:  60\n              batch: 15\n\
                    Node 0, zone DMA32\n  pagesets\n    cpu: 0\n              count: 300\n    cpu: 1\n              count: 5\n";
        assert_eq!(parse_per_cpu_pages(text), 317);
    }

    #[test]
    fn pressure_totals_are_parsed_and_0_without_a_file() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=120\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=45\n";
        assert_eq!(Pressure::parse(text), Pressure { some_us: 120, full_us: 45 });
        assert_eq!(Pressure::parse(""), Pressure::default());
        assert_eq!(["some avg10=9.0 total=1\nfull avg10=1.25 avg60=0.5 total=2\n", ""].map(parse_full_avg10), [Some(1.25), None]);
    }

    #[test]
    fn generations_are_those_of_one_group() {
        let text = "memcg     1 /\n node     0\n          0        100          1          2 \n\
                    memcg     5 /app-mail\n node     0\n          0       2400         10         0 \n          1       1200          3          44 \n\
                    memcg     6 /app-maps\n node     0\n          7          1          1          1 \n";
        assert_eq!(parse_generations(text, "/app-mail"), [[2400, 10, 0], [1200, 3, 44]]);
        assert_eq!(parse_generations(text, "/app"), Vec::<[i64; 3]>::new());
    }

    #[test]
    fn free_swap_is_100_percent_without_swap() {
        assert_eq!(Memory::default().swap_free_percentage(), 100);
        assert_eq!(Memory { swap_total_kb: 200, swap_free_kb: 18, ..Memory::default() }.swap_free_percentage(), 9);
    }
}
