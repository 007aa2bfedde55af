//! Resolves mapping events, which have page numbers, into lists of dense page indices, once for all
//! points.

use swaplab_experiment::Mapping;
use swaplab_trace::source::Progress;
use swaplab_trace::{Block, Mark, PageTable, Range, Step, Trace};
use swaplab_vocab::{Access, AppId, PageId, Result};

/// Pages whose mapping ends or whose content is discarded.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub freed: Vec<PageId>,
}

/// A resolved block: references to contents, and the positions of mapping events among them.
#[derive(Default)]
pub struct Resolved {
    pub accesses: Vec<Access>,
    pub events: Vec<(usize, Event)>,
}

impl Resolved {
    /// Runs of references, each with the event that follows it; the last run has none.
    pub fn steps(&self) -> impl Iterator<Item = (&[Access], Option<&Event>)> {
        let starts = std::iter::once(0).chain(self.events.iter().map(|(at, _)| *at));
        let ends = self.events.iter().map(|(at, event)| (*at, Some(event))).chain(std::iter::once((self.accesses.len(), None)));
        starts.zip(ends).map(|(from, (to, event))| (&self.accesses[from..to], event))
    }
}

/// Resolves blocks, with the trace's mapping events or without.
pub struct Resolver<'a> {
    table: &'a PageTable,
    mapping: Mapping,
    /// Page indices sorted by app and number, to find the pages of a range.
    order: Vec<PageId>,
    /// By page, its content, once an `mremap` has moved any. A content has the index of the page
    /// that had it first.
    moved: Option<Vec<PageId>>,
}

/// Call `each` with every resolved block of `trace`, in order. `progress` is as in
/// [`Trace::for_each_block`].
pub fn for_each_resolved(trace: &Trace, mapping: Mapping, progress: Progress, mut each: impl FnMut(&Resolved) -> Result<()>) -> Result<()> {
    let mut resolver = Resolver::new(trace.page_table()?, mapping);
    let mut resolved = Resolved::default();
    trace.for_each_block(progress, |block| {
        resolver.resolve(block, &mut resolved);
        each(&resolved)
    })
}

impl<'a> Resolver<'a> {
    pub fn new(table: &'a PageTable, mapping: Mapping) -> Resolver<'a> {
        let pages = if mapping == Mapping::Follow { table.len() } else { 0 };
        let mut order: Vec<PageId> = (0..pages as PageId).collect();
        order.sort_unstable_by_key(|p| (table.apps[*p as usize], table.numbers[*p as usize]));
        Resolver { table, mapping, order, moved: None }
    }

    /// Resolve `block` into `out`. The references of the two may be swapped, so those of `block`
    /// are undefined afterwards.
    pub fn resolve(&mut self, block: &mut Block, out: &mut Resolved) {
        out.events.clear();
        if self.mapping == Mapping::Ignore {
            std::mem::swap(&mut out.accesses, &mut block.accesses);
            return;
        }
        if self.moved.is_none() && !block.marks.iter().any(|(_, m)| matches!(m, Mark::Remap { .. })) {
            // The usual case: contents are pages, so the references need no change.
            for (at, mark) in &block.marks {
                self.event(mark).into_iter().for_each(|e| out.events.push((*at as usize, e)));
            }
            std::mem::swap(&mut out.accesses, &mut block.accesses);
            return;
        }
        out.accesses.clear();
        for step in block.steps() {
            match (step, &self.moved) {
                (Step::Accesses(run), None) => out.accesses.extend_from_slice(run),
                (Step::Accesses(run), Some(moved)) => {
                    out.accesses.extend(run.iter().map(|a| Access::new(moved[a.page() as usize], a.op())))
                }
                (Step::Mark(mark), _) => {
                    let at = out.accesses.len();
                    self.event(mark).into_iter().for_each(|e| out.events.push((at, e)));
                }
            }
        }
    }

    fn event(&mut self, mark: &Mark) -> Option<Event> {
        let freed = match mark {
            Mark::Map { range, .. } | Mark::Unmap(range) | Mark::Discard(range) => self.contents(*range),
            Mark::Kill { app } => self.contents(Range { app: *app, first: 0, pages: u64::MAX }),
            Mark::Remap { from, to } => self.remap(*from, *to),
            _ => return None,
        };
        (!freed.is_empty()).then_some(Event { freed })
    }

    /// Pages of `range` that the trace refers to, by number.
    fn pages_of(&self, range: Range) -> &[PageId] {
        let key = |p: &PageId| (self.table.apps[*p as usize], self.table.numbers[*p as usize]);
        let before = |limit: (AppId, u64)| self.order.partition_point(|p| key(p) < limit);
        let end = range
            .first
            .checked_add(range.pages)
            .map_or_else(|| self.order.partition_point(|p| key(p).0 <= range.app), |end| before((range.app, end)));
        &self.order[before((range.app, range.first)).min(end)..end]
    }

    fn content(&self, page: PageId) -> PageId {
        self.moved.as_ref().map_or(page, |moved| moved[page as usize])
    }

    fn contents(&self, range: Range) -> Vec<PageId> {
        self.pages_of(range).iter().map(|p| self.content(*p)).collect()
    }

    /// Move contents from page to page. Contents of the target pages are freed, and so are contents
    /// that no later reference can reach.
    fn remap(&mut self, from: Range, to: Range) -> Vec<PageId> {
        let mut freed = Vec::new();
        if from.first == to.first && from.app == to.app {
            // The range grew or shrank in place: pages beyond the new end are freed.
            let kept = to.pages.min(from.pages);
            return self.contents(Range { app: from.app, first: from.first + kept, pages: from.pages - kept });
        }
        freed.extend(self.contents(to));
        let sources: Vec<PageId> = self.pages_of(from).to_vec();
        for source in sources {
            let ahead = self.table.numbers[source as usize] - from.first;
            let target = if ahead < to.pages {
                self.pages_of(Range { app: to.app, first: to.first + ahead, pages: 1 }).first().copied()
            } else {
                None
            };
            match target {
                Some(target) => {
                    self.moved.get_or_insert_with(|| (0..self.table.len() as PageId).collect()).swap(source as usize, target as usize)
                }
                None => freed.push(self.content(source)),
            }
        }
        freed
    }
}
