//! The contract of `Scheme`, tested for every scheme: when a store performs the emitted transfers,
//! every fault must return the content that the page had when it was swapped out.

use proptest::prelude::*;
use std::collections::BTreeMap;
use swaplab_swap::{Medium, Scheme, SchemeSpec, Served, Setup, Slot, Step, Stored, Transfers, SCHEMES};
use swaplab_vocab::{Nanos, Op, PageId};

const PAGES: usize = 24;

/// A runner with a store. The content of a page is a number; 0 is a page of zeros.
#[derive(Default)]
struct Machine {
    /// Pages with a frame: their content, and whether it was written since it was brought in.
    frames: BTreeMap<PageId, (u64, bool)>,
    /// The expected content of each page, wherever it is.
    truth: BTreeMap<PageId, u64>,
    /// Content by slot of each medium.
    store: BTreeMap<(Medium, Slot), u64>,
    /// Content that a transfer has read and that is not in a frame yet.
    hand: BTreeMap<PageId, u64>,
    mapped: BTreeMap<PageId, (Medium, Slot)>,
    /// The slot to which each page was last written, for pages mapped in place.
    place: BTreeMap<PageId, (Medium, Slot)>,
    clock: u64,
}

impl Machine {
    fn perform(&mut self, out: &mut Transfers) {
        for t in out.steps.drain(..) {
            match t.step {
                Step::Read { medium, slot, .. } => {
                    let content = self.store.get(&(medium, slot)).unwrap_or_else(|| panic!("read of an empty slot {medium:?} {slot}"));
                    self.hand.insert(t.page, *content);
                }
                Step::Write { medium, slot, .. } => {
                    let content = self.hand.get(&t.page).or(self.frames.get(&t.page).map(|(c, _)| c));
                    self.store.insert((medium, slot), *content.unwrap_or_else(|| panic!("nothing to write for page {}", t.page)));
                    self.place.insert(t.page, (medium, slot));
                }
                Step::Cpu(_) => {}
            }
        }
    }

    /// Give frames to the pages that were read ahead, as a runner with free frames does.
    fn take_ahead(&mut self, out: &mut Transfers) {
        for page in out.ahead.drain(..) {
            let content = self.hand.remove(&page).expect("readahead without a read");
            assert!(!self.frames.contains_key(&page), "page {page} read ahead though it is in memory");
            assert_eq!(content, self.truth[&page], "readahead of page {page}");
            self.frames.insert(page, (content, false));
        }
    }

    fn reference(&mut self, scheme: &mut dyn Scheme, page: PageId, op: Op) {
        let mut out = Transfers::default();
        if !self.frames.contains_key(&page) {
            if let (Some(at), false) = (self.mapped.get(&page), op.is_write()) {
                assert_eq!(self.store[at], self.truth[&page], "mapped page {page}");
                return;
            }
            let served = scheme.fault(page, op, &mut out);
            self.perform(&mut out);
            let truth = self.truth.get(&page).copied().unwrap_or(0);
            match served {
                Served::Copied { .. } => {
                    assert_eq!(self.hand.remove(&page), Some(truth), "page {page} came back different");
                    self.mapped.remove(&page);
                    self.frames.insert(page, (truth, false));
                }
                Served::MappedInPlace => {
                    assert!(!op.is_write());
                    let place = self.place[&page];
                    assert_eq!(self.store[&place], truth, "mapped page {page}");
                    self.mapped.insert(page, place);
                }
                Served::ZeroFilled => {
                    assert_eq!(truth, 0, "page {page} lost its content");
                    self.frames.insert(page, (0, false));
                }
            }
            self.take_ahead(&mut out);
            self.hand.clear();
        }
        if op.is_write() {
            self.clock += 1;
            self.frames.insert(page, (self.clock, true));
            self.truth.insert(page, self.clock);
        }
    }

    fn evict(&mut self, scheme: &mut dyn Scheme, page: PageId) -> Option<Stored> {
        let (content, dirty) = *self.frames.get(&page)?;
        let mut out = Transfers::default();
        let stored = scheme.swap_out(page, dirty, &mut out);
        self.perform(&mut out);
        self.hand.clear();
        match stored {
            Stored::Full => return Some(stored),
            Stored::Dropped => assert_eq!(content, 0, "page {page} dropped with content"),
            Stored::Unchanged => assert!(!dirty, "page {page} is dirty and was not written"),
            Stored::Written => {}
        }
        self.frames.remove(&page);
        Some(stored)
    }

    fn discard(&mut self, scheme: &mut dyn Scheme, page: PageId) {
        scheme.discard(page);
        self.frames.remove(&page);
        self.truth.remove(&page);
        self.mapped.remove(&page);
    }

    /// A fork: `heir`, a new page, shares the content that `page` has in swap.
    fn share(&mut self, scheme: &mut dyn Scheme, page: PageId, heir: PageId) {
        if page == heir || self.truth.contains_key(&heir) || self.frames.contains_key(&heir) || self.frames.contains_key(&page) {
            return;
        }
        let Some(content) = self.truth.get(&page).copied() else { return };
        scheme.discard(heir);
        scheme.share(page, heir);
        self.truth.insert(heir, content);
        if let Some(place) = self.place.get(&page).copied() {
            self.place.insert(heir, place);
        }
    }
}

#[derive(Clone, Debug)]
enum Action {
    Read(PageId),
    Write(PageId),
    Evict(PageId),
    Discard(PageId),
    Share(PageId, PageId),
    Wait(u64),
}

fn action() -> impl Strategy<Value = Action> {
    let page = || 0..PAGES as PageId;
    prop_oneof![
        4 => page().prop_map(Action::Read),
        4 => page().prop_map(Action::Write),
        6 => page().prop_map(Action::Evict),
        1 => page().prop_map(Action::Discard),
        1 => (page(), page()).prop_map(|(a, b)| Action::Share(a, b)),
        1 => (1..50_000u64).prop_map(Action::Wait),
    ]
}

/// Every scheme with its defaults, and with extreme values of its parameters.
fn variants() -> Vec<String> {
    let mut all: Vec<String> = SCHEMES.keys().map(String::from).collect();
    let corners = [
        "nvm-cache:nvm=3p,admission=always",
        "nvm-cache:nvm=3p,admission=second-touch,replacement=lfu,size=16p",
        "nvm-cache:nvm=5p,admission=write-heavy",
        "zram:limit=4p",
        "zram:recompress=zstd,recompress_idle=100,recompress_every=100,recompress_threshold=0",
        "zswap:pool=3p",
        "zswap:pool=0%",
        "tiered:limit=4p,budget=9p,idle=10",
        "tiered:limit=4p,request=android",
        "tiered:limit=4p,budget=9p,idle=10,compressed_writeback=on",
    ];
    all.extend(corners.map(String::from));
    for info in SCHEMES.iter() {
        let has = |name: &str| info.parameters.iter().any(|p| p.name == name);
        if has("size") {
            all.push(format!("{}:size=7p", info.key));
        }
        if has("readahead") {
            all.push(format!("{}:readahead=8,merge=4,size=20p", info.key));
        }
    }
    all
}

fn play(text: &str, actions: &[Action]) -> Vec<String> {
    let mut scheme = SchemeSpec::parse(text).unwrap().build(&Setup::new(PAGES, 8)).unwrap();
    let (mut machine, mut log, mut now) = (Machine::default(), Vec::new(), 0);
    for (number, action) in actions.iter().enumerate() {
        match *action {
            Action::Read(page) => machine.reference(scheme.as_mut(), page, Op::Read),
            Action::Write(page) => machine.reference(scheme.as_mut(), page, Op::Write),
            Action::Evict(page) => drop(machine.evict(scheme.as_mut(), page)),
            Action::Discard(page) => machine.discard(scheme.as_mut(), page),
            Action::Share(page, heir) => machine.share(scheme.as_mut(), page, heir),
            Action::Wait(seconds) => {
                now += seconds;
                let mut out = Transfers::default();
                scheme.tick(Nanos(now * 1_000_000_000), &mut out);
                machine.perform(&mut out);
                machine.hand.clear();
            }
        }
        scheme.check().unwrap_or_else(|e| panic!("{text}, after action {number} {action:?}: {e}"));
        log.push(format!("{:?} {:?}", scheme.usage(), scheme.gauges()));
    }
    // After every owner has discarded its content, the scheme is empty.
    (0..PAGES as PageId).for_each(|page| machine.discard(scheme.as_mut(), page));
    let usage = scheme.usage();
    assert_eq!((usage.pages, usage.dram_bytes, usage.nvm_bytes, usage.flash_bytes), (0, 0, 0, 0), "{text} keeps content that has no owner");
    log
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn content_comes_back_and_runs_repeat(actions in prop::collection::vec(action(), 1..200)) {
        for text in variants() {
            prop_assert_eq!(play(&text, &actions), play(&text, &actions));
        }
    }
}

#[test]
fn a_page_only_read_is_never_stored() {
    for info in SCHEMES.iter() {
        let (mut machine, mut scheme) = (Machine::default(), SchemeSpec::parse(info.key).unwrap().build(&Setup::new(PAGES, 8)).unwrap());
        machine.reference(scheme.as_mut(), 3, Op::Read);
        assert_eq!(machine.evict(scheme.as_mut(), 3), Some(Stored::Dropped), "{}", info.key);
        assert_eq!(scheme.usage().pages, 0);
    }
}

/// Content adopted from before a run costs and counts the same as content that the run has stored.
/// A cache in front of flash starts empty, so it is exempt.
#[test]
fn adopted_content_equals_stored_content() {
    for text in variants().iter().filter(|text| !text.contains("admission=")) {
        let build = || SchemeSpec::parse(text).unwrap().build(&Setup::new(PAGES, 8)).unwrap();
        let (mut adopts, mut stores, mut machine) = (build(), build(), Machine::default());
        let is_cache = text.starts_with("zswap") || text.starts_with("nvm-cache");
        let figures = |scheme: &dyn Scheme| (!is_cache).then(|| (scheme.usage(), scheme.gauges()));
        let mut adopted_pages = Vec::new();
        for page in 0..PAGES as PageId {
            machine.reference(stores.as_mut(), page, Op::Write);
            if !adopts.adopt(page) {
                // When the first tier is full, `swap_out` may still write to a lower tier.
                let stored = machine.evict(stores.as_mut(), page);
                assert!(stored == Some(Stored::Full) || text.starts_with("tiered"), "{text}: page {page} is {stored:?}");
                break;
            }
            assert_eq!(machine.evict(stores.as_mut(), page), Some(Stored::Written), "{text}: page {page}");
            assert_eq!(figures(adopts.as_ref()), figures(stores.as_ref()), "{text}: page {page}");
            adopted_pages.push(page);
            assert_eq!(adopts.usage().pages, adopted_pages.len() as u64, "{text}");
        }
        adopts.check().unwrap();
        assert!(!adopted_pages.is_empty() || text.starts_with("none") || text.contains("limit="), "{text}");
        let is_figure = |(name, value): &(&str, f64)| !name.is_empty() && *value >= 0.0;
        assert!(adopts.gauges().iter().all(is_figure), "{text}: {:?}", adopts.gauges());
        for page in adopted_pages {
            let [adopted, stored] = [&mut adopts, &mut stores].map(|scheme| {
                let mut out = Transfers::default();
                let served = scheme.fault(page, Op::Write, &mut out);
                assert!(matches!(served, Served::Copied { .. }), "{text}: page {page} is {served:?}");
                format!("{served:?} {:?}", out.steps)
            });
            assert!(is_cache || adopted == stored, "{text}: page {page}: {adopted}, not {stored}");
        }
        if !text.starts_with("tiered:limit=4p,budget") {
            assert_eq!(figures(adopts.as_ref()), figures(stores.as_ref()), "{text}: after the swap-ins");
        }
    }
}
