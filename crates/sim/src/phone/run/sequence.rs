//! Runs a whole sequence of launches.

use super::PhoneRun;
use crate::phone::machine::Machine;
use crate::phone::spec::{Design, Sequence, Spec};
use std::sync::atomic::AtomicBool;
use swaplab_vocab::{BadInput, Result};

/// Run `sequence` with one design and seed, unless `stop` is set meanwhile. Returns the machine at
/// the end, and the time in ns from which figures are counted.
pub fn run(spec: &Spec, design: &Design, sequence: &Sequence, seed: u64, stop: &AtomicBool) -> Result<(Machine, u64)> {
    if sequence.launches.is_empty() {
        return Err(BadInput::new("workload.launches", "no launch in it", "a trace of launches"));
    }
    let (mut phone, mut counted_from_ns) = (PhoneRun::boot(spec, design, sequence, seed, stop)?, 0);
    for (number, launch) in sequence.launches.iter().enumerate() {
        if number > 0 && number == sequence.warm_up {
            phone.machine.count_from_now();
            counted_from_ns = phone.machine.clock.settled_ns;
        }
        phone.launch(launch)?;
        if phone.is_stopped() {
            return Err(BadInput::Interrupted { place: format!("phone: design '{}', launch {}", design.written.name, number + 1) });
        }
    }
    phone.machine.deaths().release_all_killed();
    phone.machine.sample();
    Ok((phone.machine, counted_from_ns))
}
