//! Tools that derive a trace from others: slices, merges, anonymized copies. All use the builder,
//! so pages get new indices.

mod anonymize;
mod merge;
mod slice;

pub use anonymize::anonymize;
pub use merge::merge;
pub use slice::{slice, Slice};

use crate::builder::TraceBuilder;
use crate::event::{Mark, Range};
use crate::mappings::ClassAndFile;
use crate::meta::{FilePage, PageTable};
use swaplab_vocab::{Access, BadInput, Result};

/// A mapping of pages and files from the old trace to the new one.
trait Renaming {
    /// The range in the new trace: app, first page, and the number of pages that are kept.
    fn range(&self, old: Range) -> Range;
    /// The new number of a mapped file.
    fn file(&self, old: u32) -> u32 {
        old
    }
}

/// Copy a reference with the class of its page.
fn copy_access(access: Access, table: &PageTable, to: &impl Renaming, builder: &mut TraceBuilder) -> Result<()> {
    let page = access.page() as usize;
    let place = to.range(Range { app: table.apps[page], first: table.numbers[page], pages: 1 });
    let old = table.file_pages.get(page).copied().unwrap_or_default();
    let file_page = FilePage { file: to.file(old.file), offset: old.offset };
    let known = ClassAndFile { class: table.classes[page], file_page };
    match builder.access_as(place.app, place.first, access.op(), known)? {
        Ok(()) => Ok(()),
        Err(_) => Err(BadInput::new("page table", format!("page {} twice, of two classes", table.numbers[page]), "each page once")),
    }
}

/// Copy a mark, with its pages, apps and files renamed.
fn copy_mark(mark: &Mark, to: &impl Renaming) -> Mark {
    match mark {
        Mark::Map { range, class, file, offset } => {
            Mark::Map { range: to.range(*range), class: *class, file: to.file(*file), offset: *offset }
        }
        Mark::Unmap(range) => Mark::Unmap(to.range(*range)),
        Mark::Discard(range) => Mark::Discard(to.range(*range)),
        Mark::Evict(range) => Mark::Evict(to.range(*range)),
        Mark::Remap { from, to: target } => Mark::Remap { from: to.range(*from), to: to.range(*target) },
        Mark::Launch { app, foreground_ns } => Mark::Launch { app: app_of(to, *app), foreground_ns: *foreground_ns },
        Mark::Switch { app } => Mark::Switch { app: app_of(to, *app) },
        Mark::Kill { app } => Mark::Kill { app: app_of(to, *app) },
        Mark::Sample { app, counter, value } => Mark::Sample { app: app_of(to, *app), counter: *counter, value: *value },
        Mark::Time { .. } | Mark::RawReferences { .. } => mark.clone(),
    }
}

fn app_of(to: &impl Renaming, app: u16) -> u16 {
    to.range(Range { app, first: 0, pages: 0 }).app
}
