//! `oracle-general`: libCacheSim's 24-byte records. The time is the reference's index modulo 2^32,
//! the size is the page size.

use super::Output;
use crate::slt::Trace;
use crate::source::Progress;
use crate::Block;
use swaplab_vocab::{BadInput, Result};

pub fn export(trace: &Trace, out: &mut Output, progress: Progress) -> Result<()> {
    trace.require_references()?;
    let table = trace.page_table()?;
    if table.apps.iter().any(|a| *a != table.apps[0]) {
        return Err(BadInput::new(
            trace.place(),
            "pages of several apps",
            "one app's trace, such as a slice of it: oracle-general has no app",
        ));
    }
    let next_uses = next_uses(trace)?;
    let mut records = Vec::new();
    let mut index = 0u64;
    trace.for_each_block(progress, |block| {
        records.clear();
        for access in &block.accesses {
            let next = next_uses[index as usize];
            records.extend((index as u32).to_le_bytes());
            records.extend(table.numbers[access.page() as usize].to_le_bytes());
            records.extend((trace.page_size as u32).to_le_bytes());
            records.extend(if next == u32::MAX { -1 } else { next as i64 }.to_le_bytes());
            index += 1;
        }
        out.write(&records)
    })
}

/// For each reference, the index of the next reference to the same page, or `u32::MAX` if there is
/// none.
pub fn next_uses(trace: &Trace) -> Result<Vec<u32>> {
    let total = usize::try_from(trace.meta.references()).ok().filter(|n| *n < u32::MAX as usize);
    let total = total.ok_or_else(|| BadInput::new(trace.place(), "2^32 references or more", "fewer, where the future must be known"))?;
    let mut seen = vec![u32::MAX; trace.pages()];
    let mut next = vec![u32::MAX; total];
    let mut block = Block::default();
    let mut end = total;
    for number in (0..trace.blocks()).rev() {
        trace.read_block(number, &mut block)?;
        let start = end
            .checked_sub(block.accesses.len())
            .ok_or_else(|| BadInput::new(trace.place(), "more references than its metadata says", "an unaltered trace"))?;
        for (i, access) in block.accesses.iter().enumerate().rev() {
            next[start + i] = std::mem::replace(&mut seen[access.page() as usize], (start + i) as u32);
        }
        end = start;
    }
    Ok(next)
}
