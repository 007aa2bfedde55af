//! Equations (1)-(5), (13) and (14): a memory with an LPDDR interface, DRAM or PCM.

use super::{Activity, Energy, Mode, LINE_BYTES};
use crate::DeviceSpec;
use swaplab_vocab::{Result, PAGE_SIZE};

/// The constants of Table II for a memory. Powers in watts, times in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Ddr {
    pre_pdn: f64,
    pre_stby: f64,
    act_pdn: f64,
    act_stby: f64,
    refresh: f64,
    act: f64,
    rd: f64,
    wr: f64,
    dq: f64,
    t_ck: f64,
    t_rcd: f64,
    t_wr: f64,
    rl: f64,
    wl: f64,
    burst_length: f64,
    bus_width: f64,
    chip_bytes: f64,
}

impl Ddr {
    pub fn of(spec: &DeviceSpec) -> Result<Ddr> {
        let milli = |key: &str| spec.need(key).map(|v| v * 1e-3);
        let nano = |key: &str| spec.positive(key).map(|v| v * 1e-9);
        Ok(Ddr {
            pre_pdn: milli("ddr.pre_pdn_mw")?,
            pre_stby: milli("ddr.pre_stby_mw")?,
            act_pdn: milli("ddr.act_pdn_mw")?,
            act_stby: milli("ddr.act_stby_mw")?,
            refresh: milli("ddr.ref_mw")?,
            act: milli("ddr.act_mw")?,
            rd: milli("ddr.rd_mw")?,
            wr: milli("ddr.wr_mw")?,
            dq: milli("ddr.dq_mw")?,
            t_ck: nano("ddr.t_ck_ns")?,
            t_rcd: nano("ddr.t_rcd_ns")?,
            t_wr: nano("ddr.t_wr_ns")?,
            rl: spec.need("ddr.rl_cycles")?,
            wl: spec.need("ddr.wl_cycles")?,
            burst_length: spec.positive("ddr.burst_length")?,
            bus_width: spec.positive("ddr.bus_width_bits")?,
            chip_bytes: spec.positive("ddr.chip_bytes")?,
        })
    }

    /// Bursts that move `bytes`: bytes x 8 / (BL x BW).
    fn bursts(&self, bytes: u64) -> f64 {
        (bytes * 8) as f64 / (self.burst_length * self.bus_width)
    }

    /// Equation (2) for one access of `bytes`; (14) is the same with N'_rd accesses.
    pub fn t_rd(&self, bytes: u64) -> f64 {
        (self.bursts(bytes) * self.burst_length / 2.0 + self.rl) * self.t_ck
    }

    /// Equation (3) for one access of `bytes`. The printed equation adds nanoseconds to cycles.
    pub fn t_wr(&self, bytes: u64, mode: Mode) -> f64 {
        let half_burst = self.burst_length / 2.0;
        let cycles = match mode {
            Mode::Paper => self.bursts(bytes) * (half_burst + self.t_wr / self.t_ck) + self.wl,
            Mode::Literal => self.bursts(bytes) * (half_burst + self.t_wr * 1e9) + self.wl,
            Mode::Physical => self.bursts(bytes) * half_burst + self.t_wr / self.t_ck + self.wl,
        };
        cycles * self.t_ck
    }

    /// Equation (5) for one access of `bytes`.
    fn t_dq(&self, bytes: u64) -> f64 {
        self.bursts(bytes) * self.burst_length / 2.0 * self.t_ck
    }

    /// Energy of a read of `bytes` including the activation of the row, that is, its contribution
    /// to equation (1).
    pub fn read_j(&self, bytes: u64) -> f64 {
        let t = self.t_rd(bytes);
        self.act * (t + self.t_rcd) + self.rd * t + self.dq * self.t_dq(bytes)
    }

    /// Energy of one write of `bytes`.
    pub fn write_j(&self, bytes: u64, mode: Mode) -> f64 {
        let t = self.t_wr(bytes, mode);
        self.act * (t + self.t_rcd) + self.wr * t + self.dq * self.t_dq(bytes)
    }

    /// Idle power of a byte in watts: precharge power-down and refresh.
    pub fn idle_w_per_byte(&self) -> f64 {
        (self.pre_pdn + self.refresh) / self.chip_bytes
    }

    /// Equation (1), which is equation (13) for a memory without refresh power.
    pub fn energy(&self, a: &Activity, mode: Mode) -> Energy {
        let copied = (a.swap_ins - a.direct_reads) as f64;
        let writes = a.swap_outs as f64;
        // Direct reads transfer single cache lines. The paper does not charge them.
        let lines = if mode == Mode::Physical { (a.direct_reads * a.lines_per_direct_read) as f64 } else { 0.0 };
        // The paper uses N'_rd in equation (14) only.
        let activations = if mode == Mode::Literal { a.swap_ins as f64 } else { copied };

        let t_rd = copied * self.t_rd(PAGE_SIZE) + lines * self.t_rd(LINE_BYTES);
        let t_wr = writes * self.t_wr(PAGE_SIZE, mode);
        let t_act = t_rd + t_wr + (activations + writes + lines) * self.t_rcd; // (4)
        let t_dq = (activations + writes) * self.t_dq(PAGE_SIZE) + lines * self.t_dq(LINE_BYTES); // (5)
        Energy {
            background_j: self.background_j(a, t_act, mode),
            activate_j: self.act * t_act,
            read_j: self.rd * t_rd,
            write_j: self.wr * t_wr,
            io_j: self.dq * t_dq,
            busy_s: t_rd + t_wr,
        }
    }

    /// Background energy in joules. The paper adds the power of all four states over the whole run,
    /// although they exclude each other, and scales only refresh by the share of the chip.
    fn background_j(&self, a: &Activity, t_act: f64, mode: Mode) -> f64 {
        let share = a.swap_bytes as f64 / self.chip_bytes;
        match mode {
            Mode::Physical => share * (self.act_stby * t_act + self.pre_pdn * (a.seconds - t_act) + self.refresh * a.seconds),
            _ => (self.pre_pdn + self.pre_stby + self.act_pdn + self.act_stby + share * self.refresh) * a.seconds,
        }
    }
}
