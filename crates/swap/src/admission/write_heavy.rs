//! What: a miss enters the cache once a given number of writes have missed it with that content,
//! its own included.
//! Why: content that is written repeatedly wears the flash; NVM endures more writes, and content
//! that is only read may stay on flash.
//! Source: the placement rule of CLOCK-DWF (Lee, Bahn and Noh 2014, which Kim and Bahn 2019 cite),
//! used as an admission condition.
//! Deviations: a plain count of writes, which never decays.
//! Weakness: a page that was written often long ago still enters; a page that is often read but not
//! written is never admitted.

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
