//! Ends a run that takes more virtual time than the plan's limit.

use crate::report::{self, Record};
use crate::sys;
use std::time::Duration;

pub fn start(limit_ns: u64) {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_nanos(limit_ns));
        report::write(&Record::Failed { message: format!("the run took more than {} s of virtual time", limit_ns / 1_000_000_000) });
        sys::power_off();
    });
}
