//! What: content enters once it has asked by a write a given number of times.
//! Why: what is written again and again wears the flash; NVM takes it better, and reads may stay on flash.
//! Source: the placement rule of CLOCK-DWF (Lee, Bahn and Noh 2014, [19] of papers/001), turned to a cache's door.
//! Deviations: a plain count of writes, no decay.
//! Weakness: counts forever; a page read often is never let in.

use super::{Admission, Info, Setup};
use swaplab_policy::Parameter;
use swaplab_vocab::{Op, PageId};

pub const INFO: Info = Info {
    key: "write-heavy",
    what: "a miss enters if its content was written often enough",
    parameters: &[Parameter { name: "writes", default: "2", meaning: "writes after which content enters, 1 to 255" }],
    build: |setup: &Setup, params| {
        let needed = params.integer("writes", 1, 255)? as u8;
        Ok(Box::new(WriteHeavy { writes: vec![0; setup.pages], needed }))
    },
};

struct WriteHeavy {
    writes: Vec<u8>,
    needed: u8,
}

impl Admission for WriteHeavy {
    fn admit(&mut self, page: PageId, op: Op) -> bool {
        let writes = &mut self.writes[page as usize];
        *writes = writes.saturating_add(u8::from(op.is_write()));
        *writes >= self.needed
    }

    fn forget(&mut self, page: PageId) {
        self.writes[page as usize] = 0;
    }

    fn metadata_bytes(&self) -> u64 {
        self.writes.len() as u64
    }
}
