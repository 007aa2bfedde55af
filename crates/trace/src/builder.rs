//! Builds a `.slt` from page numbers of a source: dense page indices, page classes, mappings.

use crate::event::{Mark, Range};
use crate::mappings::{ClassAndFile, Mappings};
use crate::meta::{App, FilePage, Kind, Meta, PageTable};
use crate::page_map::{Named, PageMap, AHEAD, FETCHED, WRITTEN};
use crate::slt::{Codec, TraceWriter};
use std::collections::HashMap;
use std::path::Path;
use swaplab_vocab::{Access, AppId, BadInput, Class, Op, PageId, Result, MAX_PAGES};

pub struct TraceBuilder {
    writer: TraceWriter,
    kind: Kind,
    pages: PageMap,
    /// References without a page index yet. The page-map entries of later ones are prefetched while
    /// earlier ones are numbered.
    pending: Vec<Named>,
    /// Numbered references that are not written to the file yet.
    numbered: Vec<Access>,
    /// By page: its class, if it is known.
    classes: Vec<Option<Class>>,
    file_pages: Vec<FilePage>,
    mappings: Mappings,
    /// Classes given by the source, by page number. They take precedence over mappings.
    known: HashMap<u64, ClassAndFile>,
    app_ids: HashMap<String, AppId>,
    /// The class of pages of unknown class that are only ever read as data.
    data_read_class: Class,
    pub meta: Meta,
}

/// Number of references that are numbered at a time. [`AHEAD`] more are kept for prefetching.
const PENDING: usize = 512;

impl TraceBuilder {
    pub fn create(path: &Path, kind: Kind, page_size: u64, codec: Codec) -> Result<TraceBuilder> {
        Ok(TraceBuilder {
            writer: TraceWriter::create(path, kind, page_size, codec)?,
            kind,
            pages: PageMap::default(),
            pending: Vec::with_capacity(PENDING + AHEAD),
            numbered: Vec::with_capacity(PENDING + AHEAD),
            classes: Vec::new(),
            file_pages: Vec::new(),
            mappings: Mappings::default(),
            known: HashMap::new(),
            app_ids: HashMap::new(),
            data_read_class: Class::Anonymous,
            meta: Meta::default(),
        })
    }

    pub fn set_data_read_class(&mut self, class: Class) {
        self.data_read_class = class;
    }

    /// Give pages (of app 0) their classes before they are referenced.
    pub fn set_known(&mut self, known: HashMap<u64, ClassAndFile>) {
        self.known = known;
    }

    /// The index of the app of this name, which is added if it is new.
    pub fn app(&mut self, name: &str, category: Option<&str>) -> Result<AppId> {
        if let Some(id) = self.app_ids.get(name) {
            return Ok(*id);
        }
        let id = AppId::try_from(self.meta.apps.len())
            .map_err(|_| BadInput::new("apps", format!("app '{name}' is the 65,537th"), "at most 65,536"))?;
        self.meta.apps.push(App { name: name.into(), category: category.map(Into::into) });
        self.app_ids.insert(name.into(), id);
        Ok(id)
    }

    /// Number of distinct pages so far, not counting the references that are still pending.
    pub fn footprint(&self) -> usize {
        self.classes.len()
    }

    /// Add a reference. Because references are numbered in batches, an error may be that of an
    /// earlier one.
    #[inline]
    pub fn access(&mut self, app: AppId, number: u64, op: Op) -> Result<()> {
        self.pending.push((number, app, op));
        if self.pending.len() == PENDING + AHEAD {
            self.number_first(PENDING)?;
        }
        Ok(())
    }

    /// Number all pending references.
    fn number_pending(&mut self) -> Result<()> {
        self.number_first(self.pending.len())
    }

    /// Number the first `count` pending references.
    fn number_first(&mut self, count: usize) -> Result<()> {
        let mut done = 0;
        loop {
            done += self.pages.number(&self.pending[done..], count - done, &mut self.numbered);
            if done == count {
                break;
            }
            let (number, app, op) = self.pending[done];
            self.first_touch(app, number)?;
            self.numbered.push(Access::new(self.pages.first(app, number, op), op));
            done += 1;
        }
        self.pending.drain(..count);
        self.writer.accesses(&self.numbered)?;
        self.numbered.clear();
        Ok(())
    }

    /// As [`access`](Self::access), for a source that gives the page's class with each reference.
    /// The inner `Err` is the page's earlier class if it differs.
    pub fn access_as(&mut self, app: AppId, number: u64, op: Op, known: ClassAndFile) -> Result<std::result::Result<(), Class>> {
        self.number_pending()?;
        if self.pages.number(&[(number, app, op)], 1, &mut self.numbered) == 0 {
            self.first_touch(app, number)?;
            let page = self.pages.first(app, number, op);
            self.set_class(page, known);
            self.numbered.push(Access::new(page, op));
        }
        let before = self.numbered.first().and_then(|access| self.classes[access.page() as usize]);
        if before == Some(known.class) {
            self.writer.accesses(&self.numbered)?;
        }
        self.numbered.clear();
        Ok(if before == Some(known.class) { Ok(()) } else { Err(before.unwrap_or(Class::Anonymous)) })
    }

    pub fn mark(&mut self, mark: Mark) -> Result<()> {
        self.number_pending()?;
        match &mark {
            Mark::Map { range, class, file, offset } => {
                self.mappings.map(*range, ClassAndFile { class: *class, file_page: FilePage { file: *file, offset: *offset } })
            }
            Mark::Unmap(range) => self.mappings.unmap(*range),
            Mark::Remap { from, to } => self.mappings.remap(*from, *to),
            Mark::RawReferences { count } => self.meta.raw_references = Some(*count),
            _ => {}
        }
        self.writer.mark(mark)
    }

    #[cold]
    fn first_touch(&mut self, app: AppId, number: u64) -> Result<()> {
        if self.classes.len() == MAX_PAGES {
            return Err(BadInput::new("pages", format!("more than {MAX_PAGES} distinct pages"), "a footprint below 4 TiB"));
        }
        self.classes.push(None);
        let given = if app == 0 { self.known.get(&number).copied() } else { None };
        if let Some(known) = given.or_else(|| self.mappings.at(Range { app, first: number, pages: 1 })) {
            self.set_class((self.classes.len() - 1) as PageId, known);
        }
        Ok(())
    }

    fn set_class(&mut self, page: PageId, known: ClassAndFile) {
        self.classes[page as usize] = Some(known.class);
        if known.file_page.file != 0 {
            self.file_pages.resize(page as usize + 1, FilePage::default());
            self.file_pages[page as usize] = known.file_page;
        }
    }

    /// Whether it has no reference so far, which only a trace of launches may have.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty() && self.pending.is_empty() && self.kind != Kind::Launch
    }

    /// Write the rest of the file and rename it to its final name.
    pub fn finish(mut self) -> Result<Meta> {
        self.number_pending()?;
        if self.is_empty() {
            return Err(BadInput::new("", "no reference in it", "at least one"));
        }
        self.meta.classes_given = self.classes.iter().any(Option::is_some);
        let (numbers, apps, seen) = self.pages.into_columns();
        let inferred = |seen: u8| inferred_class(seen, self.data_read_class);
        let classes = self.classes.iter().zip(&seen).map(|(given, seen)| given.unwrap_or_else(|| inferred(*seen))).collect();
        let written = seen.iter().map(|seen| seen & WRITTEN != 0).collect();
        if !self.file_pages.is_empty() {
            self.file_pages.resize(numbers.len(), FilePage::default());
        }
        let table = PageTable { numbers, apps, classes, written, file_pages: self.file_pages };
        self.writer.finish(self.meta, &table)
    }
}

/// The class inferred from a page's references (docs/papers/spo-clock.md, point 8): anonymous if it
/// is ever written, file if it is only read and has instruction fetches, otherwise `data_read`.
fn inferred_class(seen: u8, data_read: Class) -> Class {
    if seen & WRITTEN != 0 {
        Class::Anonymous
    } else if seen & FETCHED != 0 {
        Class::File
    } else {
        data_read
    }
}
