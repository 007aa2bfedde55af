//! Merges several traces into one of a single machine. Each becomes an app, and they alternate in
//! proportion to their lengths.

use super::{copy_access, copy_mark, Renaming};
use crate::builder::TraceBuilder;
use crate::event::{Block, Mark, Range};
use crate::meta::{Kind, Meta, PageTable};
use crate::slt::{Codec, Trace};
use crate::source::Progress;
use std::path::Path;
use swaplab_vocab::{AppId, BadInput, Result};

/// An input trace, read block by block.
struct Input<'a> {
    trace: &'a Trace,
    table: &'a PageTable,
    apps: Vec<AppId>,
    files: u32,
    block: Block,
    next_block: usize,
    access: usize,
    mark: usize,
    done: u64,
}

impl Renaming for Input<'_> {
    fn range(&self, old: Range) -> Range {
        Range { app: self.apps[old.app as usize], ..old }
    }

    fn file(&self, old: u32) -> u32 {
        if old == 0 {
            0
        } else {
            old.saturating_add(self.files)
        }
    }
}

/// Merge named `traces`. Each runs for `quantum` references at a time.
pub fn merge(traces: &[(&str, &Trace)], quantum: u64, output: &Path, progress: Progress) -> Result<Meta> {
    let first = traces.first().ok_or_else(|| BadInput::new("merge", "no trace", "two or more"))?.1;
    for (_, trace) in traces {
        if trace.kind != Kind::Page || trace.page_size != first.page_size {
            return Err(BadInput::new(
                trace.place(),
                format!("a {:?} trace of {}-byte pages", trace.kind, trace.page_size),
                format!("page traces of {}-byte pages", first.page_size),
            ));
        }
    }
    let mut builder = TraceBuilder::create(output, Kind::Page, first.page_size, Codec::Zstd)?;
    let mut inputs = Vec::new();
    for (name, trace) in traces {
        inputs.push(Input::new(name, trace, &mut builder)?);
    }
    // The coarsest filter determines the number of frames from which on the merged trace is valid.
    builder.meta.filter.lru_entries = traces.iter().filter_map(|(_, t)| t.meta.filter.lru_entries).max();
    builder.meta.truncated = traces.iter().any(|(_, t)| t.meta.truncated);
    builder.meta.provenance.insert(
        "merged_from".into(),
        traces.iter().map(|(name, t)| format!("{name} {}", t.meta.content_hash)).collect::<Vec<_>>().join(", "),
    );
    // The trace with the smallest completed share runs next. Ties go to the first input.
    while let Some(next) =
        (0..inputs.len()).filter(|i| !inputs[*i].finished()).min_by(|a, b| inputs[*a].share().total_cmp(&inputs[*b].share()).then(a.cmp(b)))
    {
        let input = &mut inputs[next];
        input.trace.report_block(input.next_block, progress)?;
        input.advance(quantum.max(1), &mut builder)?;
    }
    builder.finish()
}

impl<'a> Input<'a> {
    fn new(name: &str, trace: &'a Trace, builder: &mut TraceBuilder) -> Result<Input<'a>> {
        let names: Vec<String> = match trace.meta.apps.as_slice() {
            [] => vec![name.into()],
            apps => apps.iter().map(|a| a.name.clone()).collect(),
        };
        let mut apps = Vec::new();
        for app in names {
            let taken = builder.meta.apps.iter().filter(|a| a.name == app || a.name.starts_with(&format!("{app}#"))).count();
            apps.push(builder.app(&if taken == 0 { app } else { format!("{app}#{}", taken + 1) }, None)?);
        }
        let table = trace.page_table()?;
        let most = table.apps.iter().copied().max().unwrap_or(0) as usize;
        if most >= apps.len() {
            return Err(BadInput::new(trace.place(), format!("a page of app {most}"), format!("one of its {} apps", apps.len())));
        }
        let files = (builder.meta.files.len() as u32).saturating_sub(1);
        if builder.meta.files.is_empty() && !trace.meta.files.is_empty() {
            builder.meta.files.push(String::new());
        }
        builder.meta.files.extend(trace.meta.files.iter().skip(1).cloned());
        let mut input = Input { trace, table, apps, files, block: Block::default(), next_block: 0, access: 0, mark: 0, done: 0 };
        input.refill()?;
        Ok(input)
    }

    fn finished(&self) -> bool {
        self.next_block >= self.trace.blocks() && self.access == self.block.accesses.len() && self.mark == self.block.marks.len()
    }

    fn share(&self) -> f64 {
        self.done as f64 / self.trace.meta.references().max(1) as f64
    }

    fn refill(&mut self) -> Result<()> {
        if self.next_block < self.trace.blocks() {
            self.trace.read_block(self.next_block, &mut self.block)?;
            (self.access, self.mark) = (0, 0);
            self.next_block += 1;
        }
        Ok(())
    }

    /// Copy up to `quantum` references, with the marks between them.
    fn advance(&mut self, quantum: u64, builder: &mut TraceBuilder) -> Result<()> {
        for _ in 0..quantum {
            if self.access == self.block.accesses.len() && self.mark == self.block.marks.len() {
                self.refill()?;
            }
            while let Some((_, mark)) = self.block.marks.get(self.mark).filter(|(at, _)| *at as usize <= self.access) {
                // Times and reference counts of a single input are meaningless in the merged trace.
                if !matches!(mark, Mark::Time { .. } | Mark::RawReferences { .. }) {
                    builder.mark(copy_mark(mark, self))?;
                }
                self.mark += 1;
            }
            let Some(access) = self.block.accesses.get(self.access).copied() else { return Ok(()) };
            copy_access(access, self.table, self, builder)?;
            self.access += 1;
            self.done += 1;
        }
        Ok(())
    }
}
