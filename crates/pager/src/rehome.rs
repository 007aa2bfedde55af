//! Eviction where a forked child reads the slots: they must not change, so the chunk moves to another home, where every page
//! of it has a slot of its own. The old home is given back when no child is left.

use crate::evict::DirectEvictor;
use crate::kernel::pagemap::Where;
use crate::kernel::PAGE;
use crate::record::What;
use crate::spans::{addresses, Attributes, PageRange};
use crate::stats::add;
use crate::world::bit::*;
use crate::world::{Backing, Gate, World};
use crate::CHUNK;
use rustix::io::Result;

impl DirectEvictor {
    /// Move `chunk` to a new home; all of its pages leave DRAM. Gives how many did: none if a part of the chunk cannot move.
    pub fn rehome(&mut self, world: &mut World, chunk: usize) -> Result<usize> {
        let range = chunk * CHUNK..(chunk + 1) * CHUNK;
        let (movable, fixed): (Vec<_>, Vec<_>) = world.spans.pieces(range.clone()).partition(|(_, span)| span.evictable());
        if fixed.iter().any(|(piece, _)| world.state.any(piece.clone(), |s| s & PAGED != 0)) {
            return Ok(0); // locked or protected pages live in this home
        }
        let Backing::Direct { home, homes, .. } = &mut world.backing else { unreachable!("a direct evictor for a direct store") };
        let (old, new) = (home[chunk], self.take_home(homes)?);
        let pieces: Vec<(PageRange, Attributes)> = movable.into_iter().map(|(piece, span)| (piece, span.attributes())).collect();
        let moved = self.move_pieces(world, chunk, &pieces, (old, new));
        let Backing::Direct { homes, .. } = &mut world.backing else { unreachable!("as above") };
        match moved {
            Ok(gone) => {
                homes.frozen.push(old);
                // What other pages left in the old home is no longer this chunk's concern.
                world.state.update(range, |s| *s &= if *s & PAGED == 0 { !(SLOT | FROZEN) } else { u8::MAX });
                add(&world.stats.swap_outs, gone);
                Ok(gone)
            }
            Err(e) => {
                homes.free.push(new);
                Err(e)
            }
        }
    }

    /// First everything is saved, then everything is mapped: half a move is none.
    fn move_pieces(
        &mut self,
        world: &mut World,
        chunk: usize,
        pieces: &[(PageRange, Attributes)],
        (old, new): (u32, u32),
    ) -> Result<usize> {
        let set_home = |world: &mut World, to| {
            let Backing::Direct { home, .. } = &mut world.backing else { unreachable!("a direct evictor for a direct store") };
            home[chunk] = to;
        };
        let mut there: Vec<usize> = Vec::new();
        let mut done = Ok(());
        for (piece, _) in pieces {
            done = done.and_then(|()| self.open(&addresses(piece)));
        }
        set_home(world, new);
        for (piece, _) in pieces {
            done = done.and_then(|()| self.save_piece(world, piece, &mut there));
        }
        if done.is_ok() {
            for (piece, attributes) in pieces {
                let Backing::Direct { home, .. } = &world.backing else { unreachable!("as above") };
                let offset = (World::slot(home, piece.start) * PAGE) as u64;
                // SAFETY: ours, and in the file now, unchanged since: writers are waiting.
                if unsafe { self.map_store(addresses(piece), *attributes, offset) }.is_err() {
                    crate::fatal("memory could not be mapped over the NVM file: there is no way back from here");
                }
                world.state.change(piece.clone(), |s| *s = *s & !(SEEN | FROZEN) | PAGED);
            }
            for &page in &there {
                world.state[page] |= OUT;
                world.note(What::Evict, page..page + 1);
                if world.state[page] & KNOWN != 0 {
                    world.forget(page..page + 1);
                }
            }
        } else {
            set_home(world, old);
        }
        for (piece, _) in pieces {
            self.close(&addresses(piece));
            world.gates.set(piece.clone(), Gate::Open);
        }
        done.map(|()| there.len())
    }

    /// Write what the pages of `piece` hold to their new slots, and append those that were in DRAM to `there`. Reading is safe
    /// wherever a page is: protection stops writers only.
    fn save_piece(&mut self, world: &mut World, piece: &PageRange, there: &mut Vec<usize>) -> Result<()> {
        let mut places = [None; CHUNK];
        self.map.scan(addresses(piece), |run| {
            places[run.pages().start % CHUNK..][..run.pages().len()].fill(Some(run.place()));
        })?;
        for page in piece.clone() {
            let in_slot = world.state[page] & (PAGED | SLOT) == PAGED | SLOT;
            let wanted = match places[page % CHUNK] {
                Some(Where::Dram) => {
                    there.push(page);
                    true
                }
                // In kernel swap, or a marker of our own protection.
                Some(Where::Swapped) => in_slot || !crate::evict::is_zero(page),
                Some(Where::File) | None => in_slot,
                Some(Where::Zero) => false,
            };
            if wanted {
                self.save(world, &(page..page + 1))?;
            }
        }
        Ok(())
    }
}
