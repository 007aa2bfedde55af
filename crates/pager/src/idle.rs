//! An idle program. Near its budget the pager thread looks at a program each 50 microseconds. Once
//! the program has taken no page fault for some time, everything by which it could grow is made to
//! wait for the pager, which then sleeps until that happens.

use crate::gate;
use crate::shared::Shared;
use crate::thread::{faults, Evictor, PagerThread};
use std::time::{Duration, Instant};

/// Time without a page fault after which a program counts as idle.
const IDLE: Duration = Duration::from_millis(20);

pub struct Idle {
    /// The program's page faults, and since when it has taken no other.
    faults: usize,
    since: Instant,
    /// Whether growth waits for the pager: fresh memory is gated, writers are held, and the memory
    /// whose gates are open fits the budget.
    pub is_guarded: bool,
}

impl Idle {
    pub fn new() -> Idle {
        Idle { faults: 0, since: Instant::now(), is_guarded: false }
    }
}

impl PagerThread {
    /// Guard an idle program, and end the guard once it takes page faults.
    pub fn watch_idleness(&mut self, shared: &Shared) {
        let now = faults();
        if now != self.idle.faults {
            self.idle = Idle { faults: now, ..Idle::new() };
        } else if !self.idle.is_guarded && self.idle.since.elapsed() >= IDLE {
            // The guard itself may take page faults, which are not the program's.
            let is_guarded = self.guard(shared);
            self.idle = Idle { faults: faults(), since: Instant::now(), is_guarded };
        }
    }

    fn guard(&mut self, shared: &Shared) -> bool {
        // A census, so that pages that have arrived do not count as untouched.
        self.round(shared);
        let Some(mut world) = shared.lock_soon() else { return false };
        gate::close(self.uffd(), &mut world);
        if self.seen.dram + gate::close_used(self.uffd(), &mut world) > self.budget {
            return false;
        }
        if let Evictor::Direct(evictor) = &mut self.evictor {
            if !evictor.protect {
                return false;
            }
            evictor.keep_holding = true;
            evictor.stop_writers(&mut world);
        }
        true
    }
}
