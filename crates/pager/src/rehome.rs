//! Eviction from a chunk with frozen slots. A forked child reads these slots, so they must not
//! change: the chunk moves to a new home. The old home is released when no descendant is left. In
//! the child, the first eviction from a chunk that is mapped from its parent's file moves the chunk
//! to the child's file in the same way.

use crate::evict::DirectEvictor;
use crate::kernel::pagemap::Where;
use crate::kernel::PAGE;
use crate::managed::bit::*;
use crate::managed::{Backing, Gate, ManagedMemory};
use crate::record::EventKind;
use crate::spans::{addresses, Attributes, PageRange};
use crate::stats::add;
use crate::CHUNK;
use rustix::io::Result;

/// The home of a chunk that has none.
const NONE: u32 = 0;

impl DirectEvictor {
    /// Move `chunk` to a new home, and evict all of its pages. Returns the number of evicted pages:
    /// 0 if a part of the chunk cannot move.
    pub fn rehome(&mut self, managed: &mut ManagedMemory, chunk: usize) -> Result<usize> {
        let range = chunk * CHUNK..(chunk + 1) * CHUNK;
        let (movable, fixed): (Vec<_>, Vec<_>) = managed.spans.pieces(range.clone()).partition(|(_, span)| span.evictable());
        if fixed.iter().any(|(piece, _)| managed.state.any(piece.clone(), |s| s & PAGED != 0)) {
            return Ok(0); // Pages that are not evictable use this home.
        }
        let Backing::Direct { home, homes, .. } = &mut managed.backing else { unreachable!("a direct evictor for a direct store") };
        let (old, new) = (home[chunk], self.take_home(homes)?);
        let pieces: Vec<(PageRange, Attributes)> = movable.into_iter().map(|(piece, span)| (piece, span.attributes())).collect();
        let moved = self.move_pieces(managed, chunk, &pieces, (old, new));
        let Backing::Direct { homes, .. } = &mut managed.backing else { unreachable!("as above") };
        match moved {
            Ok(gone) => {
                homes.frozen.extend((old != NONE).then_some(old));
                managed.inherited.remove(&chunk);
                // Pages that are not paged have no slot in the new home.
                managed.state.update(range, |s| *s &= if *s & PAGED == 0 { !(SLOT | FROZEN) } else { u8::MAX });
                add(&managed.stats.swap_outs, gone);
                Ok(gone)
            }
            Err(e) => {
                homes.free.push(new);
                if old == NONE {
                    // Only frozen pages have slots, in the parent's file.
                    managed.state.update(range, |s| *s &= if *s & FROZEN == 0 { !SLOT } else { u8::MAX });
                }
                Err(e)
            }
        }
    }

    /// Save all pieces, then map all of them: after a failure to save, the chunk keeps its old
    /// home. `open` begins the eviction window, in which writers wait; `close` ends it, after which
    /// no access waits (`Gate::Open`).
    fn move_pieces(
        &mut self,
        managed: &mut ManagedMemory,
        chunk: usize,
        pieces: &[(PageRange, Attributes)],
        (old, new): (u32, u32),
    ) -> Result<usize> {
        let set_home = |managed: &mut ManagedMemory, to| {
            let Backing::Direct { home, .. } = &mut managed.backing else { unreachable!("a direct evictor for a direct store") };
            home[chunk] = to;
        };
        let mut in_dram: Vec<usize> = Vec::new();
        let mut done = Ok(());
        for (piece, _) in pieces {
            done = done.and_then(|()| self.open(&addresses(piece)));
        }
        set_home(managed, new);
        for (piece, _) in pieces {
            done = done.and_then(|()| self.save_piece(managed, piece, &mut in_dram));
        }
        if done.is_ok() {
            for (piece, attributes) in pieces {
                let Backing::Direct { home, .. } = &managed.backing else { unreachable!("as above") };
                let offset = (ManagedMemory::slot(home, piece.start) * PAGE) as u64;
                // SAFETY: managed memory whose content is in the file, and unchanged since, as
                // writers wait.
                if unsafe { self.map_store(addresses(piece), *attributes, offset) }.is_err() {
                    crate::fatal("the NVM file could not be mapped over memory while a chunk was moved");
                }
                managed.state.change(piece.clone(), |state| *state = moved(*state));
            }
            for &page in &in_dram {
                managed.state[page] |= OUT;
                managed.note(EventKind::Evict, page..page + 1);
                if managed.state[page] & KNOWN != 0 {
                    managed.forget(page..page + 1);
                }
            }
        } else {
            set_home(managed, old);
        }
        for (piece, _) in pieces {
            self.close(&addresses(piece));
            managed.gates.set(piece.clone(), Gate::Open);
        }
        done.map(|()| in_dram.len())
    }

    /// Write the pages of `piece` to their new slots, and append those that were in DRAM to
    /// `in_dram`. Every page can be read, as the write-protection only stops writers.
    fn save_piece(&mut self, managed: &mut ManagedMemory, piece: &PageRange, in_dram: &mut Vec<usize>) -> Result<()> {
        let mut places = [None; CHUNK];
        self.map.scan(addresses(piece), |run| {
            places[run.pages().start % CHUNK..][..run.pages().len()].fill(Some(run.place()));
        })?;
        for page in piece.clone() {
            let in_slot = managed.state[page] & (PAGED | SLOT) == PAGED | SLOT;
            let wanted = match places[page % CHUNK] {
                Some(Where::Dram) => {
                    in_dram.push(page);
                    true
                }
                // In kernel swap, or only a marker of the write-protection.
                Some(Where::Swapped) => in_slot || !crate::evict::is_zero(page),
                Some(Where::File) | None => in_slot,
                Some(Where::Zero) => false,
            };
            if wanted {
                self.save(managed, &(page..page + 1))?;
            }
        }
        Ok(())
    }
}

/// The state of a page that is mapped from its slot in a new home, which no child reads.
fn moved(state: u8) -> u8 {
    state & !(SEEN | FROZEN) | PAGED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::bit::SLOT;

    #[test]
    fn a_moved_page_is_mapped_from_a_slot_of_its_own() {
        assert_eq!([0, SEEN | FROZEN | SLOT, PAGED | FROZEN | OUT].map(moved), [PAGED, PAGED | SLOT, PAGED | OUT]);
    }
}
