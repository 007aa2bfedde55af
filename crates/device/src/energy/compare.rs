//! The energy of a run on the three schemes that DR.Swap compares.

use super::{Activity, Ddr, Emmc, Energy, Mode};
use crate::load;
use swaplab_vocab::{BadInput, Result};

/// The energy of a run on each of the schemes: DRAM-backed swap, flash, NVM with Direct Read.
pub fn compare(activity: &Activity, mode: Mode) -> Result<[(&'static str, Energy); 3]> {
    activity.check()?;
    let copied = activity.copied();
    let dram = Ddr::of(&load("lpddr2")?.spec)?.energy(&copied, mode);
    let flash = Emmc::of(&load("emmc-4.41")?.spec)?.energy(&copied, mode);
    let nvm = Ddr::of(&load("lpddr2-pcm")?.spec)?.energy(activity, mode);
    for (name, energy) in [("dram", &dram), ("flash", &flash), ("nvm-direct", &nvm)] {
        if energy.busy_s > activity.seconds {
            let found = format!("{name} would be busy for {:.1} s of {} s", energy.busy_s, activity.seconds);
            return Err(BadInput::new("energy", found, "fewer operations or a longer run"));
        }
    }
    Ok([("dram", dram), ("flash", flash), ("nvm-direct", nvm)])
}
