//! An idle program. Near its budget the pager thread looks at a program each 50 microseconds. Once
//! the program has taken no page fault for some time, everything by which it could grow is made to
//! wait for the pager, which then sleeps until that happens.

use crate::gate;
use crate::shared::Shared;
use crate::thread::{faults, nap_ns, Evictor, PagerThread, LONGEST_NAP_NS};
use std::sync::atomic::Ordering;
use std::time::Instant;

impl PagerThread {
    /// Guard a program that is idle with `headroom` pages left, and end the guard once it takes
    /// page faults.
    pub fn watch_idleness(&mut self, shared: &Shared, headroom: usize) {
        let idle = &mut self.sleeps.idle;
        // `growth` has just counted them.
        let now = shared.stats().faults.load(Ordering::Relaxed) as usize;
        if now != idle.faults {
            idle.faults = now;
            idle.end();
        } else if !idle.is_guarded && idle.since.elapsed() >= idle.wait && nap_ns(headroom) < LONGEST_NAP_NS {
            let begin = Instant::now();
            let is_guarded = self.guard(shared);
            // The guard itself may have taken page faults, which are not the program's.
            self.sleeps.idle.tried(is_guarded, begin.elapsed(), faults());
        }
    }

    fn guard(&mut self, shared: &Shared) -> bool {
        // A census, so that pages that have arrived do not count as untouched.
        self.round(shared);
        let Some(mut managed) = shared.lock_soon() else { return false };
        gate::close(self.uffd(), &mut managed);
        if self.seen.dram + gate::close_used(self.uffd(), &mut managed) > self.budget {
            return false;
        }
        if let Evictor::Direct(evictor) = &mut self.evictor {
            if !evictor.protect {
                return false;
            }
            evictor.keep_holding = true;
            evictor.stop_writers(&mut managed);
        }
        true
    }
}
