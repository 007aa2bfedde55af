//! From a source's page numbers to a finished `.slt`: dense numbering, page classes, mappings.

use crate::event::{Mark, Range};
use crate::mappings::Mappings;
use crate::meta::{App, FilePage, Kind, Meta, PageTable};
use crate::page_map::PageMap;
use crate::slt::{Codec, TraceWriter};
use std::collections::HashMap;
use std::path::Path;
use swaplab_vocab::{prefetch, Access, AppId, BadInput, Class, Op, PageId, Result, MAX_PAGES};

/// What is known of a page beforehand, as a pages file gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub class: Class,
    pub file_page: FilePage,
}

pub struct TraceBuilder {
    writer: TraceWriter,
    kind: Kind,
    pages: PageMap,
    /// References not yet numbered: what their pages need is brought near while others are.
    pending: Vec<(u64, AppId, Op)>,
    /// Per page: seen operations, class if known.
    flags: Vec<u8>,
    file_pages: Vec<FilePage>,
    mappings: Mappings,
    /// Beats mappings (interface.md, "Meanings").
    known: HashMap<u64, Known>,
    app_ids: HashMap<String, AppId>,
    /// The class of pages of unknown class that are only ever read as data.
    data_read_class: Class,
    pub meta: Meta,
}

const SEEN: [u8; 3] = [1, 2, 4]; // by Op: read, written, fetched
const CLASS_KNOWN: u8 = 8;
const CLASS_SHIFT: u32 = 4;

/// References that wait to be numbered, and by how many of them what they need is asked for early: its place, then the page.
const PENDING: usize = 512;
const AHEAD: usize = 32;
const SOON: usize = 16;

impl TraceBuilder {
    pub fn create(path: &Path, kind: Kind, page_size: u64, codec: Codec) -> Result<TraceBuilder> {
        Ok(TraceBuilder {
            writer: TraceWriter::create(path, kind, page_size, codec)?,
            kind,
            pages: PageMap::default(),
            pending: Vec::with_capacity(PENDING),
            flags: Vec::new(),
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
    pub fn set_known(&mut self, known: HashMap<u64, Known>) {
        self.known = known;
    }

    /// The index of the app of this name, new or not.
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

    /// Pages referenced so far, but for those of the last few references.
    pub fn footprint(&self) -> usize {
        self.flags.len()
    }

    /// A reference. An error may be that of an earlier one.
    #[inline]
    pub fn access(&mut self, app: AppId, number: u64, op: Op) -> Result<()> {
        self.pending.push((number, app, op));
        if self.pending.len() == PENDING {
            self.settle()?;
        }
        Ok(())
    }

    /// Number the references that wait.
    fn settle(&mut self) -> Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        for (at, (number, app, op)) in pending.iter().enumerate() {
            if let Some((number, app, _)) = pending.get(at + AHEAD) {
                self.pages.prefetch(*app, *number);
            }
            if let Some((number, app, _)) = pending.get(at + SOON) {
                if let Some(page) = self.pages.guess(*app, *number) {
                    prefetch(&self.flags, page as usize);
                }
            }
            let page = self.pages.intern(*app, *number);
            if page as usize == self.flags.len() {
                self.first_touch(*app, *number)?;
            }
            self.flags[page as usize] |= SEEN[*op as usize];
            self.writer.access(Access::new(page, *op))?;
        }
        pending.clear();
        self.pending = pending;
        Ok(())
    }

    /// As [`access`](Self::access), for a source that names the page's class at each reference: `Err` is the class it had before.
    pub fn access_as(&mut self, app: AppId, number: u64, op: Op, known: Known) -> Result<std::result::Result<(), Class>> {
        self.settle()?;
        let page = self.pages.intern(app, number);
        if page as usize == self.flags.len() {
            self.first_touch(app, number)?;
            self.set_class(page, known);
        } else if self.class_of(page) != Some(known.class) {
            return Ok(Err(self.class_of(page).unwrap_or(Class::Anonymous)));
        }
        self.flags[page as usize] |= SEEN[op as usize];
        self.writer.access(Access::new(page, op))?;
        Ok(Ok(()))
    }

    pub fn mark(&mut self, mark: Mark) -> Result<()> {
        self.settle()?;
        match &mark {
            Mark::Map { range, class, file, offset } => {
                self.mappings.map(*range, Known { class: *class, file_page: FilePage { file: *file, offset: *offset } })
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
        if self.flags.len() == MAX_PAGES {
            return Err(BadInput::new("pages", format!("more than {MAX_PAGES} distinct pages"), "a footprint below 4 TiB"));
        }
        self.flags.push(0);
        let given = if app == 0 { self.known.get(&number).copied() } else { None };
        if let Some(known) = given.or_else(|| self.mappings.at(Range { app, first: number, pages: 1 })) {
            self.set_class((self.flags.len() - 1) as PageId, known);
        }
        Ok(())
    }

    fn set_class(&mut self, page: PageId, known: Known) {
        let flags = &mut self.flags[page as usize];
        *flags = *flags & 7 | CLASS_KNOWN | (known.class as u8) << CLASS_SHIFT;
        if known.file_page.file != 0 {
            self.file_pages.resize(page as usize + 1, FilePage::default());
            self.file_pages[page as usize] = known.file_page;
        }
    }

    fn class_of(&self, page: PageId) -> Option<Class> {
        let flags = self.flags[page as usize];
        (flags & CLASS_KNOWN != 0).then(|| Class::from_code(flags >> CLASS_SHIFT).expect("a class code of ours"))
    }

    /// Write the rest of the file and give it its name.
    pub fn finish(mut self) -> Result<Meta> {
        self.settle()?;
        if self.flags.is_empty() && self.kind != Kind::Launch {
            return Err(BadInput::new("", "no reference in it", "at least one"));
        }
        self.meta.classes_given = self.flags.iter().any(|f| f & CLASS_KNOWN != 0);
        let classes = (0..self.flags.len() as PageId).map(|p| self.class_of(p).unwrap_or_else(|| self.inferred_class(p))).collect();
        let written = self.flags.iter().map(|f| f & SEEN[Op::Write as usize] != 0).collect();
        if !self.file_pages.is_empty() {
            self.file_pages.resize(self.flags.len(), FilePage::default());
        }
        let (numbers, apps) = self.pages.into_columns();
        let table = PageTable { numbers, apps, classes, written, file_pages: self.file_pages };
        self.writer.finish(self.meta, &table)
    }

    /// READING 002, point 8: ever written: anonymous; fetched as an instruction and never written: file; else an option.
    fn inferred_class(&self, page: PageId) -> Class {
        let flags = self.flags[page as usize];
        if flags & SEEN[Op::Write as usize] != 0 {
            Class::Anonymous
        } else if flags & SEEN[Op::Fetch as usize] != 0 {
            Class::File
        } else {
            self.data_read_class
        }
    }
}
