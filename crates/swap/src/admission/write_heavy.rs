//! What: content enters once it has asked by a write a given number of times.
//! Why: what is written again and again wears the flash; NVM takes it better, and reads may stay on flash.
//! Source: the placement rule of CLOCK-DWF (Lee, Bahn and Noh 2014, which Kim and Bahn 2019 cite), turned to a cache's door.
//! Deviations: a plain count of writes, no decay.
//! Weakness: counts forever; a page read often is never let in.

use super::{Admission, Entry, Info, Setup};
use swaplab_vocab::{Kind, Op, PageId, Parameter};

pub static ENTRY: Entry = Entry {
    key: "write-heavy",
    what: "a miss enters if its content was written often enough",
    source: "Lee, Bahn and Noh 2014",
    parameters: &[Parameter::new("writes", Kind::Integer { low: 1, high: 255 }, "2", "writes after which content enters, 1 to 255")],
    info: Info {
        build: |setup: &Setup, params| {
            let needed = params.integer("writes") as u8;
            Ok(Box::new(WriteHeavy { writes: vec![0; setup.pages], needed }))
        },
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
