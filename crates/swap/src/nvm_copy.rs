//! What: a swap area in byte-addressable NVM; pages are copied out and back in by loads and stores.
//! Why: swap in NVM without Direct Read, the baseline for Direct Read (DR.Swap, Table IV,
//! "disabled").
//! Source: DR.Swap (Zhong et al. 2016), Section III-A.
//! Deviations: after a swap-in a page keeps its slot until it is written, as in the kernel's swap
//! cache. Under a page policy of Linux 4.15 or later (`Setup::bypasses_swap_cache`) the slot is
//! free at once.
//! Weakness: pages that are only read are copied too.

use crate::area::{Area, SIZE};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::plain::Plain;
use crate::{Medium, Scheme};
use swaplab_vocab::{Params, Result, World};

pub static ENTRY: Entry = Entry {
    key: "nvm-copy",
    what: "swap area in NVM on the memory bus, every fault copies",
    source: "DR.Swap, Section III-A",
    parameters: &[SIZE],
    info: Info {
        medium: Some(Medium::Nvm),
        areas: &[Reservation::new("size", Medium::Nvm)],
        capacity: Some("size"),
        compresses: false,
        reads_in_place: false,
        worlds: &World::ALL,
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let backend = Plain::memory(Medium::Nvm, setup);
            Ok(Box::new(Area::new(setup.pages, setup.pages_of(params, "size")?, backend)))
        },
    },
};

#[cfg(test)]
mod tests {
    use crate::{SchemeSpec, Served, Setup, Stored, Transfers};
    use swaplab_vocab::Op;

    /// A page that is read back and evicted clean needs no write in a kernel with the swap cache. A
    /// kernel without it has freed the slot, so the page is written again.
    #[test]
    fn a_kernel_that_bypasses_the_swap_cache_frees_the_slot() {
        for scheme in ["nvm-copy:size=4p", "ramdisk:size=4p,readahead=2"] {
            for (bypasses_swap_cache, kept, next) in [(false, true, Stored::Unchanged), (true, false, Stored::Written)] {
                let setup = Setup { bypasses_swap_cache, ..Setup::new(8, 8) };
                let (mut scheme, mut out) = (SchemeSpec::parse(scheme).unwrap().build(&setup).unwrap(), Transfers::default());
                for page in 0..2 {
                    assert_eq!(scheme.swap_out(page, true, &mut out), Stored::Written);
                }
                out.clear();
                assert_eq!(scheme.fault(0, Op::Read, &mut out), Served::Copied { kept });
                assert_eq!(scheme.usage().pages, 1 + u64::from(kept));
                assert!(!bypasses_swap_cache || out.ahead.is_empty(), "no readahead");
                assert_eq!(scheme.swap_out(0, !kept, &mut out), next);
                scheme.check().unwrap();
            }
        }
    }
}
