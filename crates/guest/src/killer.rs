//! The low-memory killer as a thread that runs before every ordinary task, as lmkd does. Its rules are those of `swaplab-apps`; here is only
//! what it looks at.

use crate::counters::now_ns;
use crate::limited;
use crate::phone::{Phone, Seen};
use crate::plan::Plan;
use crate::proc;
use crate::report::Reason;
use crate::sys;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;
use swaplab_apps::{Killer, Pressure};

/// Look every `poll_ms`, for ever; at the apps' control group where that has a limit, else at the machine.
pub fn watch(phone: &Mutex<Phone>, plan: &Plan, killer: &Killer) {
    if let Err(error) = sys::run_first() {
        eprintln!("swaplab-guest: {error}; the killer runs as an ordinary task");
    }
    if let Ok(mut phone) = phone.lock() {
        phone.killer_thread = Some(rustix::thread::gettid().as_raw_nonzero().get() as u32);
    }
    let mut second = Second::default();
    loop {
        std::thread::sleep(Duration::from_secs_f64(killer.poll_ms / 1000.0));
        let stall_ms = second.stall_ms(now_ns(), limited::memory_pressure(plan).some_us);
        if killer.kills_from(&worst(stall_ms)).is_none() {
            continue; // whatever else there was to see
        }
        let Ok(mut phone) = phone.lock() else { return };
        let memory = limited::memory(plan);
        let high_kb = proc::watermarks().high * 4;
        let seen = Pressure {
            free_kb: memory.free_kb,
            file_kb: memory.file_kb,
            below_high: memory.free_kb < high_kb,
            stall_ms,
            refaulted_file_kb: second.refaulted_file_kb(now_ns()),
            swap_free_percentage: memory.swap_free_percentage(),
        };
        let victim = killer.kills_from(&seen).and_then(|least| phone.victim(least));
        if let Some(app) = victim.filter(|_| phone.armed) {
            let Pressure { free_kb, file_kb, swap_free_percentage, .. } = seen;
            phone.kill(app, Reason::LowMemory, Seen { free_kb, file_kb, stall_ms, swap_free_percentage });
            // The stalls that this kill answers are past.
            second = Second::default();
        }
    }
}

/// As bad as it can be with these stalls: where no app may be killed then, none may be at all.
fn worst(stall_ms: u64) -> Pressure {
    Pressure { free_kb: 0, file_kb: 0, below_high: true, stall_ms, refaulted_file_kb: u64::MAX / 200, swap_free_percentage: 0 }
}

/// Totals at looks within the last second.
#[derive(Default)]
struct Second {
    stalls: VecDeque<(u64, u64)>,
    refaults: VecDeque<(u64, u64)>,
}

const SECOND_NS: u64 = 1_000_000_000;

impl Second {
    fn stall_ms(&mut self, now_ns: u64, total_us: u64) -> u64 {
        grown(&mut self.stalls, now_ns, total_us) / 1000
    }

    fn refaulted_file_kb(&mut self, now_ns: u64) -> u64 {
        let pages = proc::vmstat().get("workingset_refault_file").copied().unwrap_or(0);
        grown(&mut self.refaults, now_ns, pages) * 4
    }
}

/// By how much a total has grown within a second of looks.
fn grown(looks: &mut VecDeque<(u64, u64)>, now_ns: u64, total: u64) -> u64 {
    looks.push_back((now_ns, total));
    while looks.len() > 1 && looks[0].0 + SECOND_NS < now_ns {
        looks.pop_front();
    }
    total.saturating_sub(looks[0].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_grows_within_a_second() {
        let mut looks = VecDeque::new();
        let ms = 1_000_000;
        assert_eq!([(0, 5), (600 * ms, 9), (1000 * ms, 20)].map(|(at, total)| grown(&mut looks, at, total)), [0, 4, 15]);
        assert_eq!(grown(&mut looks, 1500 * ms, 21), 12, "since the look at 0.6 s");
        assert_eq!(grown(&mut looks, 9000 * ms, 30), 0);
    }

    #[test]
    fn without_stalls_lmkd_does_not_look_further() {
        let killer = Killer::parse("lmkd").unwrap();
        assert_eq!([0, 69, 70].map(|stall| killer.kills_from(&worst(stall)).is_some()), [false, false, true]);
        assert!(Killer::default().kills_from(&worst(0)).is_some(), "minfree looks at memory alone");
    }
}
