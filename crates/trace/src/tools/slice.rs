//! A part of a trace: a window of references, or the references of one app.

use super::{copy_access, copy_mark, Renaming};
use crate::builder::TraceBuilder;
use crate::event::{Mark, Range, Step};
use crate::meta::Meta;
use crate::slt::{Codec, Trace};
use crate::source::Progress;
use std::path::Path;
use swaplab_vocab::{AppId, BadInput, Result};

/// The part to keep.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// Number of references to skip.
    pub from: u64,
    /// Maximum number of references to keep.
    pub count: Option<u64>,
    /// Only this app's references and marks, by name.
    pub app: Option<String>,
}

/// A renaming that changes nothing.
struct Unchanged;

impl Renaming for Unchanged {
    fn range(&self, old: Range) -> Range {
        old
    }
}

pub fn slice(trace: &Trace, part: &Slice, output: &Path, progress: Progress) -> Result<Meta> {
    let table = trace.page_table()?;
    let only: Option<AppId> = match &part.app {
        Some(name) => Some(app_named(trace, name)?),
        None => None,
    };
    let mut builder = TraceBuilder::create(output, trace.kind, trace.page_size, Codec::Zstd)?;
    builder.meta = trace.meta.clone();
    builder.meta.raw_references = None;
    let end = part.count.map_or(u64::MAX, |n| part.from.saturating_add(n));
    builder.meta.provenance.insert("slice_of".into(), trace.meta.content_hash.clone());
    builder.meta.provenance.insert(
        "slice".into(),
        format!("references {} to {end}{}", part.from, part.app.as_ref().map(|a| format!(" of {a}")).unwrap_or_default()),
    );
    let mut index = 0u64;
    trace.for_blocks_while(progress, |block| {
        for step in block.steps() {
            match step {
                Step::Accesses(run) => {
                    for access in run {
                        let wanted = index >= part.from && index < end && only.is_none_or(|app| table.apps[access.page() as usize] == app);
                        index += 1;
                        if wanted {
                            copy_access(*access, table, &Unchanged, &mut builder)?;
                        }
                    }
                }
                Step::Mark(mark) => {
                    if index >= part.from && index < end && only.is_none_or(|app| owner(mark).is_none_or(|o| o == app)) {
                        builder.mark(copy_mark(mark, &Unchanged))?;
                    }
                }
            }
        }
        Ok(index < end)
    })?;
    if builder.is_empty() {
        let found = format!("no reference in this part of {}", trace.meta.references());
        return Err(BadInput::new(trace.place(), found, "a part with at least one"));
    }
    builder.finish().map_err(|e| e.within(trace.place()))
}

fn app_named(trace: &Trace, name: &str) -> Result<AppId> {
    let apps = &trace.meta.apps;
    if apps.is_empty() {
        return Err(BadInput::new(trace.place(), format!("unknown app '{name}'"), "none, as the trace names no apps"));
    }
    let position = apps.iter().position(|a| a.name == name);
    position.map(|i| i as AppId).ok_or_else(|| swaplab_vocab::unknown_key(trace.place(), "app", name, apps.iter().map(|a| a.name.as_str())))
}

/// The app of a mark; `None` for marks of the whole trace.
fn owner(mark: &Mark) -> Option<AppId> {
    match mark {
        Mark::Map { range, .. } | Mark::Unmap(range) | Mark::Discard(range) | Mark::Evict(range) | Mark::Remap { from: range, .. } => {
            Some(range.app)
        }
        Mark::Launch { app, .. } | Mark::Switch { app } | Mark::Kill { app } | Mark::Sample { app, .. } => Some(*app),
        Mark::Time { .. } | Mark::RawReferences { .. } => None,
    }
}

impl Slice {
    pub fn check(&self) -> Result<()> {
        if self.count == Some(0) {
            return Err(BadInput::new("count", "0 references", "at least 1"));
        }
        Ok(())
    }
}
