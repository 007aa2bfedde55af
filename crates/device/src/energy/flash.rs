//! Equations (6)-(12) of DR.Swap (docs/models/energy.md): flash behind an eMMC bus.

use super::{Activity, Energy, Mode};
use crate::DeviceSpec;
use swaplab_vocab::{Result, PAGE_SIZE};

/// The constants of Table II for the eMMC. Powers in watts, times in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Emmc {
    p_rd: f64,
    p_wr: f64,
    p_stby: f64,
    clock_hz: f64,
    rl: f64,
    wl: f64,
    rd_block: f64,
    wr_block: f64,
    bus_width: f64,
    nand_read: f64,
    nand_program: f64,
}

impl Emmc {
    pub fn of(spec: &DeviceSpec) -> Result<Emmc> {
        let v_dd = spec.positive("emmc.v_dd")?;
        Ok(Emmc {
            p_rd: v_dd * spec.need("emmc.read_ma")? * 1e-3,      // (7)
            p_wr: v_dd * spec.need("emmc.write_ma")? * 1e-3,     // (8)
            p_stby: v_dd * spec.need("emmc.standby_ua")? * 1e-6, // (9)
            clock_hz: spec.positive("emmc.f_mhz")? * 1e6,
            rl: spec.need("emmc.rl_cycles")?,
            wl: spec.need("emmc.wl_cycles")?,
            rd_block: spec.positive("emmc.rd_bl_bytes")?,
            wr_block: spec.positive("emmc.wr_bl_bytes")?,
            bus_width: spec.positive("emmc.bus_width_bits")?,
            nand_read: spec.need("emmc.nand_read_us")? * 1e-6,
            nand_program: spec.need("emmc.nand_program_us")? * 1e-6,
        })
    }

    /// Equation (10) for one access of `bytes`: bus time; `physical` adds tR of the flash page.
    pub fn t_rd(&self, bytes: u64, mode: Mode) -> f64 {
        let block = (self.rd_block * 8.0 / (2.0 * self.bus_width) + self.rl) / self.clock_hz;
        block * bytes as f64 / self.rd_block + self.array(mode, self.nand_read)
    }

    /// Equation (11) for one access of `bytes`; `physical` adds tPROG of the flash page.
    pub fn t_wr(&self, bytes: u64, mode: Mode) -> f64 {
        let block = (self.wr_block * 8.0 / (2.0 * self.bus_width) + self.wl) / self.clock_hz;
        block * bytes as f64 / self.wr_block + self.array(mode, self.nand_program)
    }

    fn array(&self, mode: Mode, seconds: f64) -> f64 {
        if mode == Mode::Physical {
            seconds
        } else {
            0.0
        }
    }

    pub fn read_j(&self, bytes: u64, mode: Mode) -> f64 {
        self.p_rd * self.t_rd(bytes, mode)
    }

    pub fn write_j(&self, bytes: u64, mode: Mode) -> f64 {
        self.p_wr * self.t_wr(bytes, mode)
    }

    /// Standby power in watts, independent of the bytes in use.
    pub fn idle_w(&self) -> f64 {
        self.p_stby
    }

    /// Equation (6).
    pub fn energy(&self, a: &Activity, mode: Mode) -> Energy {
        let t_rd = a.swap_ins as f64 * self.t_rd(PAGE_SIZE, mode);
        let t_wr = a.swap_outs as f64 * self.t_wr(PAGE_SIZE, mode);
        let t_stby = a.seconds - t_rd - t_wr; // (12)
        let (read_j, write_j) = (self.p_rd * t_rd, self.p_wr * t_wr);
        Energy { background_j: self.p_stby * t_stby, read_j, write_j, busy_s: t_rd + t_wr, ..Energy::default() }
    }
}
