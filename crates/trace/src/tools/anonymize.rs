//! Anonymizes a trace for sharing: names are replaced by pseudonyms, and each app's pages are moved
//! to a random address. The order of references, the adjacency of pages, classes, sizes and the
//! times between events are kept.

use super::{copy_access, copy_mark, Renaming};
use crate::builder::TraceBuilder;
use crate::event::{Range, Step};
use crate::meta::{Meta, PageTable};
use crate::slt::{Codec, Trace};
use crate::source::Progress;
use std::path::Path;
use swaplab_vocab::Result;

/// By app: its lowest referenced page, and the new number of that page.
struct MovedPages {
    apps: Vec<(u64, u64)>,
}

impl MovedPages {
    fn new(table: &PageTable, seed: u64) -> MovedPages {
        let apps = table.apps.iter().copied().max().map_or(0, |most| most as usize + 1);
        let mut ends = vec![(u64::MAX, 0u64); apps];
        for (app, number) in table.apps.iter().zip(&table.numbers) {
            let (low, high) = &mut ends[*app as usize];
            *low = (*low).min(*number);
            *high = (*high).max(*number);
        }
        let place = |(app, (low, high)): (usize, (u64, u64))| {
            let low = low.min(high);
            let base = splitmix(seed.wrapping_add(app as u64)) >> 28;
            (low, if (high - low).checked_add(base).is_some() { base } else { 0 })
        };
        MovedPages { apps: ends.into_iter().enumerate().map(place).collect() }
    }
}

/// A step of SplitMix64 (Steele et al., OOPSLA 2014), as a hash of `seed`.
fn splitmix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Renaming for MovedPages {
    /// Clip a range at the app's lowest page, because its part below would reveal the address of
    /// that page.
    fn range(&self, old: Range) -> Range {
        let Some((low, base)) = self.apps.get(old.app as usize).copied() else { return Range { first: 0, pages: 0, ..old } };
        let first = old.first.max(low);
        let pages = old.first.saturating_add(old.pages).saturating_sub(first);
        let first = (first - low).saturating_add(base);
        Range { app: old.app, first, pages: pages.min(u64::MAX - first) }
    }
}

pub fn anonymize(trace: &Trace, seed: u64, output: &Path, progress: Progress) -> Result<Meta> {
    let table = trace.page_table()?;
    let moved = MovedPages::new(table, seed);
    let mut builder = TraceBuilder::create(output, trace.kind, trace.page_size, Codec::Zstd)?;
    builder.meta = trace.meta.clone();
    builder.meta.provenance = [("anonymised".to_string(), "names and addresses replaced".to_string())].into();
    for (i, app) in builder.meta.apps.iter_mut().enumerate() {
        app.name = format!("A{:02}", i + 1);
    }
    for (i, file) in builder.meta.files.iter_mut().enumerate().skip(1) {
        *file = format!("F{i:03}");
    }
    trace.for_each_block(progress, |block| {
        for step in block.steps() {
            match step {
                Step::Accesses(run) => run.iter().try_for_each(|a| copy_access(*a, table, &moved, &mut builder))?,
                Step::Mark(mark) => builder.mark(copy_mark(mark, &moved))?,
            }
        }
        Ok(())
    })?;
    builder.finish()
}
