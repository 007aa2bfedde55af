//! What: content is admitted if its compressed size is at most a given share of a page.
//! Why: a compressed cache gains nothing from incompressible pages, which flash can store as well.
//! Source: zswap's rejection of pages that compress poorly (Linux `mm/zswap.c`); here an option for
//! any cache.
//! Deviations: the share is a parameter.
//! Weakness: ignores whether the page will be used again.

use super::{Admission, Entry, Info, Setup};
use crate::{Algorithm, Content};
use std::sync::Arc;
use swaplab_vocab::{Kind, Op, PageId, Parameter, PAGE_SIZE};

pub static ENTRY: Entry = Entry {
    key: "compressible",
    what: "a miss enters if it compresses well (lz4)",
    source: "Linux mm/zswap.c",
    parameters: &[Parameter::new("percent", Kind::Integer { low: 0, high: 100 }, "50", "largest compressed size, percent of a page")],
    info: Info {
        build: |setup: &Setup, params| {
            let most = (PAGE_SIZE * params.integer("percent") / 100) as u32;
            Ok(Box::new(Compressible { content: setup.content.clone(), most }))
        },
    },
};

struct Compressible {
    content: Arc<dyn Content>,
    most: u32,
}

impl Admission for Compressible {
    fn admit(&mut self, page: PageId, _: Op) -> bool {
        self.content.compressed(page, Algorithm::Lz4) <= self.most
    }
}

#[cfg(test)]
mod tests {
    use crate::admission::{AdmissionSpec, Setup};
    use crate::{Algorithm, Content};
    use std::sync::Arc;
    use swaplab_vocab::{Op, PageId};

    /// Page `n` compresses to 512 `n` bytes.
    struct Steps;

    impl Content for Steps {
        fn compressed(&self, page: PageId, algorithm: Algorithm) -> u32 {
            assert_eq!(algorithm, Algorithm::Lz4);
            512 * page
        }
    }

    #[test]
    fn content_enters_up_to_its_share_of_a_page() {
        let admitted = |text: &str| {
            let setup = Setup { pages: 9, capacity: 4, content: Arc::new(Steps) };
            let mut condition = AdmissionSpec::parse(text).unwrap().build(&setup).unwrap();
            (0..9).filter(|page| condition.admit(*page, Op::Write)).collect::<Vec<_>>()
        };
        // 50 % of 4,096 bytes are four steps of 512 bytes, 25 % are two, and at 0 % only
        // same-filled pages are admitted.
        assert_eq!(admitted("compressible"), [0, 1, 2, 3, 4]);
        assert_eq!(admitted("compressible:percent=25"), [0, 1, 2]);
        assert_eq!(admitted("compressible:percent=0"), [0]);
    }
}
