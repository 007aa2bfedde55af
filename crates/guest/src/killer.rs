//! The low-memory killer: a thread with real-time priority, like lmkd. Its rules are in
//! `swaplab-apps`; this module reads the figures that they need.

use crate::counters::now_ns;
use crate::direct_reclaim::DirectReclaim;
use crate::limited;
use crate::phone::{Phone, Seen};
use crate::plan::Plan;
use crate::proc;
use crate::report::Reason;
use crate::sys;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;
use swaplab_apps::{Killer, Pressure, Watermark};

/// Check memory every `poll_ms` until the machine is turned off: the apps' control group if it has
/// a limit, otherwise the machine. `direct_reclaim` is for a killer that reads how long it lasts.
pub fn watch(phone: &Mutex<Phone>, plan: &Plan, killer: &Killer, mut direct_reclaim: Option<DirectReclaim>) {
    if let Err(error) = sys::run_first() {
        eprintln!("swaplab-guest: {error}; the killer runs as an ordinary task");
    }
    if let Ok(mut phone) = phone.lock() {
        phone.killer_thread = Some(rustix::thread::gettid().as_raw_nonzero().get() as u32);
    }
    let (mut killer, mut stalls, mut last) = (killer.clone(), VecDeque::new(), None);
    loop {
        std::thread::sleep(Duration::from_secs_f64(killer.poll_ms / 1000.0));
        let direct_reclaim_ms = direct_reclaim.as_mut().map_or(0, DirectReclaim::duration_ms);
        let total = limited::memory_pressure(plan).some_us;
        let stall_ms = growth(&mut stalls, now_ns(), total) / 1000;
        // Skip the check if the killer would kill nothing at this stall time, whatever the use of
        // memory. Also skip it if the killer is called by reclaim (a shrinker, like minfree) and
        // nothing was reclaimed since the last check: all reclaim adds stall time, also kswapd's.
        if !killer.is_awake(stall_ms) || killer.is_awake(0) && last == Some(total) {
            continue;
        }
        last = Some(total);
        let Ok(mut phone) = phone.lock() else { return };
        let memory = limited::memory(plan);
        let marks = proc::watermarks();
        let percentage = memory.swap_free_percentage();
        let seen = Pressure {
            free_kb: memory.free_kb,
            file_kb: memory.file_kb,
            anon_kb: memory.anonymous_kb,
            watermark: Watermark::breached(memory.free_kb / 4, [marks.min, marks.low, marks.high]),
            scanned: Some(limited::scanned(plan)),
            direct_reclaim_ms,
            stall_ms,
            full_avg10: if killer.reads_average() { limited::full_avg10(plan) } else { 0.0 },
            file_refaults_kb: 4 * proc::vmstat().get("workingset_refault_file").copied().unwrap_or(0),
            swap_total_kb: memory.swap_total_kb,
            // The kernel does not use the last swap slots, so less than one percent counts as no
            // free swap.
            swap_free_kb: memory.swap_total_kb * percentage / 100,
        };
        let victim = killer.look(now_ns(), &seen).and_then(|least| phone.victim(least));
        if let Some(app) = victim.filter(|_| phone.armed) {
            let Pressure { free_kb, file_kb, .. } = seen;
            phone.kill(app, Reason::LowMemory, Seen { free_kb, file_kb, stall_ms, swap_free_percentage: percentage });
            killer.killed();
            // Stalls before this kill must not cause another one.
            stalls.clear();
        }
    }
}

const SECOND_NS: u64 = 1_000_000_000;

/// The growth of a total within the last second. `readings` has the earlier readings as pairs of
/// time and total.
fn growth(readings: &mut VecDeque<(u64, u64)>, now_ns: u64, total: u64) -> u64 {
    readings.push_back((now_ns, total));
    while readings.len() > 1 && readings[0].0 + SECOND_NS < now_ns {
        readings.pop_front();
    }
    total.saturating_sub(readings[0].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_of_the_last_second() {
        let mut readings = VecDeque::new();
        let ms = 1_000_000;
        assert_eq!([(0, 5), (600 * ms, 9), (1000 * ms, 20)].map(|(at, total)| growth(&mut readings, at, total)), [0, 4, 15]);
        assert_eq!(growth(&mut readings, 1500 * ms, 21), 12, "since the reading at 0.6 s");
        assert_eq!(growth(&mut readings, 9000 * ms, 30), 0);
    }
}
