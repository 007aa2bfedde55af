//! Time on the phone, and what is waited for.

use super::queue::WriteBack;
use super::record::Stalls;

/// The clock, and the stalls of whoever runs.
pub struct StallClock {
    /// The time when whoever runs now began to run.
    pub now_ns: u64,
    /// Stalls since they were last taken, and their sum.
    waited: Stalls,
    waited_ns: u64,
    /// Stalls since the last beat of proactive reclaim.
    pub felt_ns: u64,
    second: Second,
    /// Writes that nobody waits for.
    pub write_back: WriteBack,
}

/// What happened within one second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    number: u64,
    stalled_ns: u64,
}

impl StallClock {
    pub fn new(write_back: WriteBack) -> StallClock {
        StallClock { now_ns: 0, waited: Stalls::default(), waited_ns: 0, felt_ns: 0, second: Second::default(), write_back }
    }

    /// The time as of the last stall.
    pub fn now(&self) -> u64 {
        self.now_ns + self.waited_ns
    }

    pub fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    pub fn stall(&mut self, stalls: Stalls) {
        let ns = stalls.total_ns();
        self.waited += stalls;
        self.waited_ns += ns;
        self.felt_ns += ns;
        let number = self.now() / 1_000_000_000;
        if self.second.number != number {
            self.second = Second { number, stalled_ns: 0 };
        }
        self.second.stalled_ns += ns;
    }

    /// Stalls within the present second.
    pub fn this_second_ns(&self) -> u64 {
        match self.second.number == self.now() / 1_000_000_000 {
            true => self.second.stalled_ns,
            false => 0,
        }
    }

    /// Stalls since the last call.
    pub fn take_stalls(&mut self) -> Stalls {
        self.now_ns += std::mem::take(&mut self.waited_ns);
        std::mem::take(&mut self.waited)
    }
}
