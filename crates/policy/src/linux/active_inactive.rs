//! What: Linux's classic reclaim: an active and an inactive list for anonymous and for file pages.
//! Pages enter the inactive list, are activated when a scan finds them used twice, and are
//! deactivated when the active list is too long. A fault on a page whose refault distance is within
//! the working set activates it at once, and makes reclaim deactivate active pages of its kind.
//! Passes of rising urgency scan each list by its length, by swappiness and by the recent cost of
//! reclaiming its kind. `kernel=3.4` (Nexus 5): new anonymous pages enter the active list, one use
//! activates a page, there is no refault distance, and the kind of which fewer pages are found in
//! use is scanned more. `kernel=6.12`: as 6.1, but list lengths for aging and for refault distances
//! are those of the last statistics flush, a page that was activated once is activated again by a
//! single use, and a page that storage writes stays in its list: once it is written it moves to the
//! tail of the inactive list, and a second scan frees its frame.
//! Why: phones used it until MGLRU, and papers on swap compare with it.
//! Source: Linux 6.1 to 6.12, mm/vmscan.c (shrink_active_list, folio_check_references,
//! get_scan_count, shrink_lruvec, prepare_scan_control, snapshot_refaults), mm/workingset.c,
//! mm/swap.c (lru_note_cost, folio_rotate_reclaimable); Linux 3.4, mm/vmscan.c
//! (page_check_references, get_scan_count), mm/rmap.c (page_add_new_anon_rmap); we read the
//! behavior there, the code is our own.
//! Deviations: a batch pauses at each evicted page; with `kernel=3.4` one page is scanned at a
//! time, without scan priorities; every page is mapped; a page counts as executable after an
//! instruction fetch from it; no memory control groups; with `kernel=6.1` and `kernel=3.4` the mark
//! of a used page is cleared when it is activated, and with `kernel=6.1` anonymous pages count for
//! refault distances even if swap is full or absent. A written private file page moves to the
//! anonymous lists when a scan reaches it.
//! Weakness: two bits of history; a burst of file pages flushes the inactive list; rotation costs
//! scans.

mod flags;
mod scan;
mod sums;
#[cfg(test)]
mod tests;

use super::scan_balance::{Rule, ScanBalance};
use super::scan_pass::{Reclaimer, ScanPass, BATCH, MAX_RECLAIM_RETRIES};
use super::suspended::Suspended;
use crate::containers::links::List;
use crate::containers::lists::Lists;
use crate::{Backing, Describe, Entry, Info, PageView, Policy, Setup, Signal};
use flags::{Scan, ACCESSED, EXECUTABLE, RECALLED, SHADOW, WORKINGSET, WRITING, WRITTEN};
use std::ops::Range;
use swaplab_vocab::spec::Place;
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

/// Lists by kind of page, anonymous (`Backing::Swap`) and file.
const INACTIVE: [List; 2] = [List(0), List(1)];
const ACTIVE: [List; 2] = [List(2), List(3)];
const ANON: usize = Backing::Swap as usize;
const FILE: usize = Backing::File as usize;

/// The statistics of control groups, as of their last flush.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    inactive: [usize; 2],
    active: [usize; 2],
    /// By kind: whether pages refaulted since then.
    refaulted: [bool; 2],
}

/// What the parameters ask for.
#[derive(Clone, Copy)]
struct Rules {
    /// Whether swappiness is 0.
    never_swaps: bool,
    /// Whether the rules of Linux 3.4 apply.
    old: bool,
    /// Whether the rules of Linux 6.12 apply.
    newest: bool,
    /// Whether a fault within the refault distance activates its page.
    refault: bool,
}

/// Counts that the result shows. No decision depends on them, except that background reclaim waits
/// for the end of a pass.
#[derive(Default)]
struct Counts {
    /// Completed passes of background reclaim.
    passes: u64,
    scanned: u64,
    refilled: u64,
    activations: u64,
}

pub struct ActiveInactivePolicy {
    lists: Lists,
    flags: Vec<u8>,
    /// By page: value of `age` at its eviction.
    evicted_at: Vec<u32>,
    /// Evictions and activations so far: the clock of refault distances.
    age: u32,
    balance: ScanBalance,
    pass: ScanPass,
    suspended: Suspended<ScanPass>,
    rules: Rules,
    /// With the rules of 6.12, the statistics of the last flush; `None` before the first one.
    /// Otherwise reclaim uses current values.
    sums: Option<Sums>,
    /// By kind: whether pages were activated by their refault distance since this reclaimer began,
    /// and between the previous one and this.
    refaulted: [bool; 2],
    challenged: [bool; 2],
    swappable: bool,
    /// Whether the last call of `reclaim` returned because it had scanned a batch in vain.
    goes_on: bool,
    counts: Counts,
}

impl Describe for ActiveInactivePolicy {
    const ENTRY: Entry = Entry {
        key: "active-inactive",
        what: "Linux's active and inactive lists with refault distance",
        source: "Linux 6.1, mm/vmscan.c and mm/workingset.c",
        parameters: &[
            Parameter::new(
                "swappiness",
                Kind::Number { low: 0.0, high: 200.0 },
                "60",
                "willingness to swap, 0 to 200; 100 weighs anonymous and file alike",
            )
            .sets(Place::Sysctl, "vm.swappiness"),
            Parameter::new("refault", Kind::Switch, "on", "on or off: activation by refault distance (kernel=6.1)"),
            Parameter::new("kernel", Kind::Choice(&["6.1", "3.4", "6.12"]), "6.1", "6.1, 3.4 or 6.12: whose rules"),
        ],
        info: Info::online(Signal::ReferenceBit),
    };

    fn build(setup: &Setup, params: &Params) -> Result<ActiveInactivePolicy> {
        let old = params.choice("kernel") == 1;
        let rule = [Rule::Cost, Rule::Rotated, Rule::BatchCost][params.choice("kernel")];
        Ok(ActiveInactivePolicy {
            lists: Lists::new(setup.pages, 4),
            flags: vec![0; setup.pages],
            evicted_at: vec![0; setup.pages],
            age: 0,
            balance: ScanBalance::new(rule, params.number("swappiness")),
            pass: ScanPass::new(params.choice("kernel") == 2),
            suspended: Suspended::new(),
            rules: Rules {
                never_swaps: params.number("swappiness") == 0.0,
                old,
                newest: params.choice("kernel") == 2,
                refault: params.switch("refault") && !old,
            },
            swappable: true,
            goes_on: false,
            refaulted: [false; 2],
            challenged: [false; 2],
            sums: None,
            counts: Counts::default(),
        })
    }
}

impl ActiveInactivePolicy {
    fn len(&self, kind: usize) -> usize {
        self.lists.len(INACTIVE[kind]) + self.lists.len(ACTIVE[kind])
    }
}

impl Policy for ActiveInactivePolicy {
    #[inline]
    fn touch(&mut self, page: PageId, op: Op, _: &PageView) {
        self.flags[page as usize] |= if op == Op::Fetch { ACCESSED | EXECUTABLE } else { ACCESSED };
    }

    fn touch_run(&mut self, first: PageId, ops: &[Op], _: &PageView) {
        for (flags, op) in self.flags[first as usize..].iter_mut().zip(ops) {
            *flags |= if *op == Op::Fetch { ACCESSED | EXECUTABLE } else { ACCESSED };
        }
    }

    fn unaccessed(&self, pages: Range<PageId>) -> usize {
        self.flags[pages.start as usize..pages.end as usize].iter().filter(|flags| **flags & ACCESSED == 0).count()
    }

    fn miss(&mut self, page: PageId, _: Op, pages: &PageView) {
        if self.flags[page as usize] & (WRITING | WRITTEN) != 0 {
            return;
        }
        let flags = std::mem::take(&mut self.flags[page as usize]);
        if flags & SHADOW == 0 || !self.rules.refault {
            // An anonymous page without a shadow entry enters the active list.
            self.flags[page as usize] =
                if self.rules.old && flags & SHADOW == 0 && pages.backing(page) == Backing::Swap { RECALLED } else { 0 };
            return;
        }
        let kind = pages.backing(page) as usize;
        if !self.is_recent(page, kind) {
            return;
        }
        self.flags[page as usize] = RECALLED | flags & WORKINGSET;
        self.activated();
        self.note_refault(kind);
        if flags & WORKINGSET != 0 {
            self.balance.refaulted(kind, self.known_lengths());
        }
    }

    fn is_of_working_set(&self, page: PageId, pages: &PageView) -> bool {
        let was_active = self.flags[page as usize] & (SHADOW | WORKINGSET) == SHADOW | WORKINGSET;
        !self.rules.refault || was_active && self.is_recent(page, pages.backing(page) as usize)
    }

    fn begin_reclaim(&mut self, by: Reclaimer) {
        match by {
            Reclaimer::KswapdAgain(_) => self.suspended.resume_kswapd(&mut self.pass, self.goes_on),
            Reclaimer::DirectAgain => self.suspended.resume_direct(&mut self.pass),
            _ => self.begin(by),
        }
    }

    fn passes(&self) -> Option<u64> {
        self.rules.newest.then_some(self.counts.passes)
    }

    fn flush_statistics(&mut self) {
        self.sum_up();
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        if self.rules.old {
            return self.reclaim_singly(pages);
        }
        let scanned_before = self.counts.scanned;
        self.goes_on = false;
        while self.len(ANON) + self.len(FILE) > 0 && self.pass.idle_rounds < MAX_RECLAIM_RETRIES {
            if self.pass.ends_batch() {
                self.balance.end_batch(self.known_lengths());
                if self.rules.newest && self.counts.scanned - scanned_before >= BATCH as u64 {
                    self.goes_on = true;
                    return;
                }
            }
            let batch = self.pass.next();
            if batch.is_none() && self.pass.ends_direct() {
                self.age_anonymous(pages);
                self.pass.begin_again();
                return;
            }
            match batch.map(|(kind, active)| if active { self.shrink_active(kind, pages) } else { self.shrink_inactive(kind, pages) }) {
                None => {
                    self.pass.idle_rounds += u32::from(self.pass.is_done());
                    self.next_pass(pages);
                }
                Some(Scan::Evicted) => {
                    self.pass.idle_rounds = 0;
                    return;
                }
                Some(Scan::Spared) => self.pass.idle_rounds = 0,
                Some(Scan::Nothing) => {}
            }
        }
        self.pass.idle_rounds = 0;
    }

    fn goes_on(&self) -> bool {
        self.goes_on
    }

    fn insert(&mut self, page: PageId, op: Op, pages: &mut PageView) {
        let kind = pages.backing(page) as usize;
        let flags = &mut self.flags[page as usize];
        if *flags & (WRITING | WRITTEN) != 0 {
            // The page was found in the swap cache (`do_swap_page`) and stays where it is.
            *flags = *flags & WORKINGSET | ACCESSED;
            return;
        }
        let list = if *flags & RECALLED != 0 { ACTIVE } else { INACTIVE };
        *flags = *flags & WORKINGSET | ACCESSED | if op == Op::Fetch { EXECUTABLE } else { 0 };
        self.lists.push_front(list[kind], page);
    }

    fn keep(&mut self, page: PageId, pages: &mut PageView) {
        let kind = pages.backing(page) as usize;
        self.flags[page as usize] &= WORKINGSET | EXECUTABLE;
        self.lists.push_front(ACTIVE[kind], page);
        self.activated();
        self.rotated(kind);
    }

    fn takes_back(&mut self, page: PageId, pages: &PageView) -> bool {
        if !self.rules.newest {
            return false;
        }
        let flags = &mut self.flags[page as usize];
        let was_scanned = *flags & SHADOW != 0;
        *flags = *flags & WORKINGSET | WRITING;
        if was_scanned {
            // The page is not reclaimed yet (`shrink_folio_list`, `keep`).
            self.age = self.age.wrapping_sub(1);
            self.pass.note_kept();
            self.rotated(pages.backing(page) as usize);
        }
        self.lists.push_front(INACTIVE[ANON], page);
        true
    }

    fn written(&mut self, page: PageId) {
        self.flags[page as usize] = self.flags[page as usize] & WORKINGSET | WRITTEN;
        self.lists.move_to_back(INACTIVE[ANON], page);
    }

    fn set_swappable(&mut self, swappable: bool) {
        self.swappable = swappable;
    }

    fn forget(&mut self, page: PageId) {
        self.lists.remove(page);
        self.flags[page as usize] = 0;
    }

    fn scanned(&self) -> u64 {
        self.counts.scanned
    }

    fn refilled(&self) -> u64 {
        self.counts.refilled
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let len = |list| self.lists.len(list) as f64;
        vec![
            ("active_anon", len(ACTIVE[ANON])),
            ("inactive_anon", len(INACTIVE[ANON])),
            ("active_file", len(ACTIVE[FILE])),
            ("inactive_file", len(INACTIVE[FILE])),
            ("activations", self.counts.activations as f64),
        ]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.lists.check()?;
        let is_written = |page: &PageId| self.flags[*page as usize] & (WRITING | WRITTEN) != 0;
        crate::check_residency(pages, (0..4).map(List).flat_map(|l| self.lists.iter(l)).filter(|page| !is_written(page)))?;
        match (0..pages.len() as PageId)
            .find(|p| pages.is_resident(*p) && self.flags[*p as usize] & (SHADOW | RECALLED | WRITING | WRITTEN) != 0)
        {
            Some(page) => Err(format!("page {page} is in memory and has flags {:#x}", self.flags[page as usize])),
            None => Ok(()),
        }
    }
}
