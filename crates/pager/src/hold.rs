//! Who may write to what the file stands behind: writers wait during a round of evictions, and in a program with several threads from one round
//! to the next, each until its chunk's turn comes. So copies on write, which the kernel makes without asking, cannot overrun the budget.

use crate::evict::DirectEvictor;
use crate::kernel::PAGE;
use crate::spans::{addresses, PageRange, Span};
use crate::world::bit::PAGED;
use crate::world::{Gate, World};
use crate::CHUNK;

impl DirectEvictor {
    /// Let no writer of memory that the file stands behind go on, until [`let_writers_go`](DirectEvictor::let_writers_go). Where
    /// victims are scattered, one such window is cheaper than many; and copies on write, which nobody asks the pager for, cannot
    /// overrun the budget while it is open. (Fresh memory has its gates.)
    pub fn stop_writers(&mut self, world: &mut World) {
        self.tell(world);
        // Where was written last will be written next.
        for range in std::mem::take(&mut self.lifted).into_iter().rev() {
            self.hold(world, range);
        }
        let all: Vec<PageRange> = world.spans.all().filter(|(_, span)| span.evictable()).map(|(piece, _)| piece).collect();
        all.into_iter().for_each(|piece| self.hold(world, piece));
    }

    /// As [`stop_writers`](DirectEvictor::stop_writers), while somebody else has the world locked: where writers were let go.
    pub fn stop_writers_as_before(&self) {
        for range in self.lifted.iter().rev() {
            let _ = self.uffd.protect(addresses(range), true);
        }
    }

    /// Whoever writes to `range`, where the file stands behind it, waits from now on.
    fn hold(&mut self, world: &mut World, range: PageRange) {
        let open = |(piece, span): (PageRange, Span)| span.evictable().then(|| world.gates.pieces(piece)).into_iter().flatten();
        let open: Vec<PageRange> =
            world.spans.pieces(range).flat_map(open).filter(|(_, gate)| *gate != Gate::Held).map(|(run, _)| run).collect();
        for run in open {
            let mut page = run.start;
            while page < run.end {
                let paged = world.state[page] & PAGED != 0;
                let len = world.state.leading(page..run.end, |s| (s & PAGED != 0) == paged);
                if paged && self.open(&addresses(&(page..page + len))).is_ok() {
                    world.gates.set(page..page + len, Gate::Held);
                    if !self.keep_holding {
                        self.stopped.push(page..page + len);
                    }
                }
                page += len;
            }
        }
    }

    /// The end of a round: nobody waits any more, or each until its chunk's turn comes.
    pub fn let_writers_go(&mut self, mut world: Option<&mut World>) {
        for range in std::mem::take(&mut self.stopped) {
            let bytes = addresses(&range);
            if self.uffd.unregister(bytes.clone()).is_err() {
                // The program has put something else there meanwhile: everything but that.
                for page in bytes.clone().step_by(PAGE) {
                    let _ = self.uffd.unregister(page..page + PAGE);
                }
            }
            let _ = self.uffd.wake(bytes);
            match &mut world {
                Some(world) => let_go(world, range),
                None => self.untold.push(range),
            }
        }
    }

    /// A thread waits to write to `page`: the held part of its chunk is the program's to write, until the next round. So no more than
    /// a chunk's pages can come at once, and the next stop is as short as the writes were few.
    pub fn let_write(&mut self, world: Option<&mut World>, page: usize) {
        let chunk = page / CHUNK * CHUNK..(page / CHUNK + 1) * CHUNK;
        let range = match world {
            Some(world) => {
                held(world, chunk).into_iter().find(|run| run.contains(&page)).inspect(|run| world.gates.set(run.clone(), Gate::Open))
            }
            None => {
                self.untold.push(page..page + 1);
                None
            }
        };
        let range = range.unwrap_or(page..page + 1);
        if self.uffd.protect(addresses(&range), false).is_err() {
            let _ = self.uffd.protect(page * PAGE..(page + 1) * PAGE, false);
        }
        let _ = self.uffd.wake(addresses(&range));
        self.lifted.push(range);
    }

    /// Nothing is held any more: the program has one thread again.
    pub fn hold_no_longer(&mut self, world: &mut World) {
        self.keep_holding = false;
        self.tell(world);
        self.stopped.extend(world.gates.all().filter(|(_, gate)| *gate == Gate::Held).map(|(run, _)| run));
        self.let_writers_go(Some(world));
    }

    /// The world learns what was let write while it was locked.
    pub fn tell(&mut self, world: &mut World) {
        std::mem::take(&mut self.untold).into_iter().for_each(|range| let_go(world, range));
    }
}

/// Where writers wait in `range`.
fn held(world: &World, range: PageRange) -> Vec<PageRange> {
    world.gates.pieces(range).filter(|(_, gate)| *gate == Gate::Held).map(|(run, _)| run).collect()
}

/// What of `range` was held is open.
fn let_go(world: &mut World, range: PageRange) {
    held(world, range).into_iter().for_each(|run| world.gates.set(run, Gate::Open));
}
