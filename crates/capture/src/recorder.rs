//! Converts a program's references and mapping changes to the events of its trace.

use crate::cache::{CacheSizes, Caches};
use crate::maps::{Declared, Process, Region};
use crate::pages::Pages;
use crate::probe::Probes;
use crate::recent::{Recent, Touch};
use crate::stream::{Event, Reason, Sink, Span, Summary};
use rustc_hash::FxHashMap;
use swaplab_vocab::Op;

/// Settings that limit what is recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Number of pages of the LRU filter whose hits are dropped; 0 for no filter.
    pub filter: usize,
    pub caches: Option<CacheSizes>,
    /// End after this many references of the program.
    pub max: Option<u64>,
}

/// Number of raw references between two marks that record it.
const MARK_EVERY: u64 = 1 << 20;
/// The value of `head` if no page is the filter's head, so that every reference has to be
/// processed.
pub const NO_HEAD: u64 = u64::MAX;

pub struct Recorder<S> {
    sink: S,
    pub process: Process,
    limits: Limits,
    caches: Option<Caches>,
    filter: Option<Recent>,
    probes: Probes,
    pages: Pages,
    declared: Declared,
    files: FxHashMap<String, u32>,
    head: u64,
    raw: u64,
    labels: u64,
    open: bool,
}

impl<S: Sink> Recorder<S> {
    pub fn new(sink: S, process: Process, limits: Limits) -> Recorder<S> {
        Recorder {
            sink,
            process,
            limits,
            caches: limits.caches.map(Caches::new),
            filter: (limits.filter > 0).then(|| Recent::new(limits.filter)),
            // Behind caches the filter does not see the full stream, so its error would not be that
            // of the trace.
            probes: Probes::new(if limits.caches.is_some() { 0 } else { limits.filter }),
            pages: Pages::default(),
            declared: Declared::default(),
            files: FxHashMap::default(),
            head: NO_HEAD,
            raw: 0,
            labels: 0,
            open: true,
        }
    }

    pub fn into_sink(self) -> S {
        self.sink
    }

    /// Whether the recording is still active.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// `page << 1 | written` of the filter's most recent page. Another such reference to this page
    /// has no effect.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Note that the program has made `raw` references. Records that number at intervals, processes
    /// requested labels, and ends the recording at the limit.
    #[inline]
    pub fn progress(&mut self, raw: u64) {
        let before = std::mem::replace(&mut self.raw, raw);
        self.sink.progress(raw);
        if raw / MARK_EVERY != before / MARK_EVERY {
            self.put(&Event::RawReferences(raw));
        }
        while self.open && self.labels < self.sink.labels() {
            self.put(&Event::Label(self.labels));
            self.labels += 1;
            self.head = NO_HEAD;
        }
        if self.limits.max.is_some_and(|max| raw >= max) {
            self.finish(Reason::Limit);
        }
    }

    /// Note that the program accesses `length` bytes at `address`.
    pub fn touch(&mut self, op: Op, address: u64, length: u64) {
        let last = address.saturating_add(length.max(1) - 1);
        match self.caches.take() {
            None => (address >> 12..=last >> 12).for_each(|page| self.reference(op, page)),
            Some(mut caches) => {
                caches.touch(op, address, length, |page, op| self.reference(op, page));
                self.caches = Some(caches);
            }
        }
    }

    fn reference(&mut self, op: Op, number: u64) {
        let page = self.page(number);
        if let Some(filter) = &mut self.filter {
            let write = op.is_write();
            // The first reference to a page after a label is always recorded, because the part
            // after a label must contain all its pages.
            let first = std::mem::replace(&mut self.pages.labels[page as usize], self.labels) != self.labels;
            match filter.touch(page) {
                Touch::Hit if !first && (!write || self.pages.written[page as usize]) => {
                    self.set_head(number, page);
                    return;
                }
                Touch::Hit => self.pages.written[page as usize] |= write,
                Touch::Miss(dropped) => {
                    self.pages.written[page as usize] = write;
                    self.probes.filter_miss(page, dropped);
                }
            }
            self.probes.recorded(page);
            self.set_head(number, page);
        }
        self.put(&Event::Access { page: number, op });
    }

    fn set_head(&mut self, number: u64, page: u32) {
        self.head = if self.caches.is_none() && self.limits.caches.is_none() {
            number << 1 | u64::from(self.pages.written[page as usize])
        } else {
            NO_HEAD
        };
    }

    /// The page's dense index. The mapping around the page is declared if it is not yet.
    fn page(&mut self, number: u64) -> u32 {
        let page = self.pages.index(number);
        let known = std::mem::replace(&mut self.pages.declared[page as usize], true);
        if !known && !self.declared.contains(number) {
            let region = self.process.region(number).unwrap_or_else(|| Region::anonymous(Span { first: number, pages: 1 }));
            let span = self.declared.gap(region.span, number);
            self.declare(Region { offset: region.offset + (span.first - region.span.first), span, ..region });
        }
        page
    }

    /// Note that the program maps a region, which replaces earlier mappings there.
    pub fn map(&mut self, region: Region) {
        self.forget(region.span);
        self.declare(region);
    }

    fn declare(&mut self, region: Region) {
        let file = region.file.map_or(0, |name| {
            let next = self.files.len() as u32 + 1;
            let file = *self.files.entry(name.clone()).or_insert(next);
            if file == next {
                self.put(&Event::File(name));
            }
            file
        });
        let offset = if file == 0 { 0 } else { region.offset };
        self.declared.insert(region.span);
        self.put(&Event::Map { span: region.span, class: region.class, file, offset });
    }

    pub fn unmap(&mut self, span: Span) {
        self.forget(span);
        self.declared.remove(span);
        self.put(&Event::Unmap(span));
    }

    pub fn discard(&mut self, span: Span) {
        self.forget(span);
        self.put(&Event::Discard(span));
    }

    pub fn remap(&mut self, from: Span, to: Span) {
        self.forget(from);
        self.forget(to);
        self.declared.remove(from);
        self.declared.insert(to);
        self.put(&Event::Remap { from, to });
    }

    /// Forget the pages of `span`, whose content was replaced: remove them from the filter and
    /// undeclare them.
    fn forget(&mut self, span: Span) {
        for page in self.pages.within(span) {
            self.pages.declared[page as usize] = false;
            if let Some(filter) = &mut self.filter {
                filter.remove(page);
                self.probes.forget(page);
            }
        }
        self.head = NO_HEAD;
    }

    pub fn finish(&mut self, reason: Reason) {
        let summary = Summary { reason, raw_references: self.raw, measured: self.probes.measured() };
        self.put(&Event::End(summary));
        self.open = false;
    }

    fn put(&mut self, event: &Event) {
        self.open = self.open && self.sink.put(event);
    }
}

#[cfg(test)]
mod tests;
