//! DR.Swap's energy model (Zhong et al. 2016, Section IV), equation by equation.
//! `docs/models/energy.md` explains it.

mod compare;
mod ddr;
mod flash;

pub use compare::compare;
pub use ddr::Ddr;
pub use flash::Emmc;

use swaplab_vocab::{BadInput, Result, PAGE_SIZE};

/// How to read the equations where the paper and the hardware differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The reading that gives the published results.
    Paper,
    /// The behavior of the hardware.
    Physical,
    /// The equations exactly as printed, with their errors.
    Literal,
}

impl Mode {
    pub const NAMES: [&'static str; 3] = ["paper", "physical", "literal"];

    pub fn parse(text: &str) -> Result<Mode> {
        match text {
            "paper" => Ok(Mode::Paper),
            "physical" => Ok(Mode::Physical),
            "literal" => Ok(Mode::Literal),
            _ => Err(swaplab_vocab::unknown_key("energy", "mode", text, Mode::NAMES)),
        }
    }
}

/// The activity of the swap area in a run.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    pub seconds: f64,
    /// Size of the swap area.
    pub swap_bytes: u64,
    /// N_rd: swap-ins, including those served by Direct Read.
    pub swap_ins: u64,
    /// Swap-ins served by Direct Read; N'_rd is N_rd minus this number.
    pub direct_reads: u64,
    /// N_wr: swap-outs.
    pub swap_outs: u64,
    /// Cache lines read through each Direct Read mapping. Only `Physical` charges them.
    pub lines_per_direct_read: u64,
}

/// Size of a cache line in bytes.
const LINE_BYTES: u64 = 64;

impl Activity {
    fn check(&self) -> Result<()> {
        let bad = |found: String, expected: &str| Err(BadInput::new("energy", found, expected));
        if !(self.seconds.is_finite() && self.seconds > 0.0) {
            return bad(format!("{} seconds", self.seconds), "a run of more than 0 seconds");
        }
        if self.swap_bytes < PAGE_SIZE {
            return bad(format!("a swap area of {} bytes", self.swap_bytes), "at least one page of 4096 bytes");
        }
        if self.direct_reads > self.swap_ins {
            return bad(format!("{} direct reads of {} swap-ins", self.direct_reads, self.swap_ins), "no more direct reads than swap-ins");
        }
        if self.lines_per_direct_read > PAGE_SIZE / LINE_BYTES {
            return bad(format!("{} lines per direct read", self.lines_per_direct_read), "at most 64, the lines of a page");
        }
        Ok(())
    }

    /// The same run on a scheme without Direct Read.
    fn copied(&self) -> Activity {
        Activity { direct_reads: 0, ..*self }
    }
}

/// The energy of a run in joules, by the terms of equation (1). `busy_s` is t_RD + t_WR.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    pub background_j: f64,
    pub activate_j: f64,
    pub read_j: f64,
    pub write_j: f64,
    pub io_j: f64,
    pub busy_s: f64,
}

impl Energy {
    pub fn total_j(&self) -> f64 {
        self.background_j + self.activate_j + self.read_j + self.write_j + self.io_j
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(swap_mib: u64) -> Activity {
        let (swap_ins, direct_reads, swap_outs) = (3298, 2232, 10_000);
        Activity { seconds: 900.0, swap_bytes: swap_mib << 20, swap_ins, direct_reads, swap_outs, lines_per_direct_read: 64 }
    }

    fn assert_close(ours: f64, hand: f64, digits: i32) {
        let half = 0.5 * 10f64.powi(-digits) * 1.000001;
        assert!((ours - hand).abs() <= half, "{ours} is not {hand} to {digits} digits");
    }

    #[test]
    fn modes_are_parsed_by_name() {
        assert_eq!(Mode::NAMES.map(|name| Mode::parse(name).unwrap()), [Mode::Paper, Mode::Physical, Mode::Literal]);
        assert!(Mode::parse("paperr").unwrap_err().to_string().contains("'paper' (did you mean that?)"));
    }

    /// Hand-worked totals of a 900 s run (docs/papers/dr-swap.md).
    #[test]
    fn totals_and_savings_of_the_worked_example() {
        for (mib, dram_j, saving) in [(128, 19.047, 59.2), (256, 20.442, 62.0), (512, 23.232, 66.5)] {
            let [(_, dram), (_, flash), (_, nvm)] = compare(&run(mib), Mode::Paper).unwrap();
            assert_close(dram.total_j(), dram_j, 3);
            assert_close(nvm.total_j(), 7.778, 3);
            assert_close(flash.total_j(), 1.417, 3);
            assert_close(100.0 * (1.0 - nvm.total_j() / dram.total_j()), saving, 1);
        }
    }

    /// Time and energy of one page in each mode (docs/models/energy.md).
    #[test]
    fn time_and_energy_of_a_page_in_each_mode() {
        let activity = |swap_ins, swap_outs| Activity {
            seconds: 1.0,
            swap_bytes: 4096,
            swap_ins,
            direct_reads: 0,
            swap_outs,
            lines_per_direct_read: 0,
        };
        let work = |e: &Energy| (e.busy_s * 1e6, (e.total_j() - e.background_j) * 1e9);
        let writes = [
            (Mode::Paper, [(3.210, 1082.35), (8.965, 3601.11)]),
            (Mode::Literal, [(6.090, 2011.73), (24.325, 9571.54)]),
            (Mode::Physical, [(1.305, 467.61), (5.140, 2114.33)]),
        ];
        for (mode, expected) in writes {
            let [(_, dram), _, (_, nvm)] = compare(&activity(0, 1), mode).unwrap();
            for (energy, (us, nj)) in [dram, nvm].iter().zip(expected) {
                assert_close(work(energy).0, us, 3);
                assert_close(work(energy).1, nj, 2);
            }
            let [(_, dram), (_, flash), (_, nvm)] = compare(&activity(1, 0), mode).unwrap();
            for (energy, (us, nj)) in [dram, nvm].iter().zip([(1.295, 465.29), (5.135, 1678.48)]) {
                assert_close(work(energy).0, us, 3);
                assert_close(work(energy).1, nj, 2);
            }
            let array_us = if mode == Mode::Physical { 25.0 } else { 0.0 };
            assert_close(work(&flash).0 - array_us, 79.4, 1);
            assert_close(work(&flash).1 / 1e3 - array_us * 0.33, 26.2, 1);
        }
        let [_, (_, flash), _] = compare(&activity(0, 1), Mode::Paper).unwrap();
        assert_close(work(&flash).0, 88.6, 1);
        assert_close(work(&flash).1 / 1e3, 29.2, 1);
    }

    /// The modes differ only in the terms that their documentation names.
    #[test]
    fn literal_keeps_n_rd_and_physical_charges_direct_reads() {
        let nvm = |activity: &Activity, mode| compare(activity, mode).unwrap()[2].1;
        let (all, none) = (Activity { direct_reads: 3298, ..run(128) }, Activity { swap_ins: 0, direct_reads: 0, ..run(128) });
        assert_eq!(nvm(&all, Mode::Paper), nvm(&none, Mode::Paper));
        // (4) and (5) with N_rd: 3298 activations of 80 ns at 156 mW, 3298 transfers of 5120 ns at
        // 20.3 mW
        let (a, b) = (nvm(&all, Mode::Literal), nvm(&none, Mode::Literal));
        assert_close((a.activate_j - b.activate_j) * 1e6, 3298.0 * 80e-9 * 156e-3 * 1e6, 6);
        assert_close((a.io_j - b.io_j) * 1e6, 3298.0 * 5120e-9 * 20.3e-3 * 1e6, 6);
        // a 64-byte line: 4 bursts of 4 cycles and RL 3, 19 cycles of 5 ns
        let physical = nvm(&all, Mode::Physical).busy_s - nvm(&none, Mode::Physical).busy_s;
        assert_close(physical * 1e6, 3298.0 * 64.0 * 0.095, 6);
    }

    /// An eighth of the chip, 64,000 lines of 95 ns and 80 ns of activation each: 11.2 ms active at
    /// 4.8 mW, the rest of a second at 0.2 mW.
    #[test]
    fn physical_background_is_by_state() {
        let (reads, lines) = (1000, 64);
        let activity = Activity {
            seconds: 1.0,
            swap_bytes: 128 << 20,
            swap_ins: reads,
            direct_reads: reads,
            swap_outs: 0,
            lines_per_direct_read: lines,
        };
        let nvm = compare(&activity, Mode::Physical).unwrap()[2].1;
        assert_close(nvm.background_j * 1e6, (4.8 * 11.2 + 0.2 * 988.8) / 8.0, 6);
        // DRAM without work: power-down at 1.2 mW, and refresh at 12.4.
        let dram = compare(&Activity { swap_ins: 0, direct_reads: 0, ..activity }, Mode::Physical).unwrap()[0].1;
        assert_close(dram.background_j * 1e3, (1.2 + 12.4) / 8.0, 6);
    }

    #[test]
    fn impossible_runs_are_refused() {
        for (activity, word) in [
            (Activity { seconds: 0.0, ..run(128) }, "0 seconds"),
            (Activity { seconds: f64::NAN, ..run(128) }, "NaN"),
            (Activity { swap_bytes: 4095, ..run(128) }, "4095 bytes"),
            (Activity { direct_reads: 9999, ..run(128) }, "9999 direct reads"),
            (Activity { seconds: 0.5, ..run(128) }, "would be busy"),
            (Activity { lines_per_direct_read: 65, ..run(128) }, "65 lines"),
        ] {
            let e = compare(&activity, Mode::Paper).unwrap_err().to_string();
            assert!(e.contains(word), "{e}");
        }
    }
}
