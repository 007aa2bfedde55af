//! What a thread of the program does around a fork; `tether.rs` says what a fork needs.

use crate::kernel::memory;
use crate::kernel::PAGE;
use crate::stats::add;
use crate::world::{Backing, Mode};
use crate::{Held, Pager};

/// Held over a fork by the thread that forks.
pub struct ForkGuard<'a> {
    world: Held<'a>,
}

static CHILD_STATS: crate::stats::Stats = crate::stats::Stats::new();

impl Pager {
    /// Before the fork: no eviction runs, and none will until the guard is given back.
    pub fn before_fork(&self) -> ForkGuard<'_> {
        loop {
            let mut world = self.world();
            if world.mode == Mode::Child {
                return ForkGuard { world };
            }
            match world.backing {
                Backing::Nowhere => {
                    add(&world.stats.forks, 1);
                    return ForkGuard { world };
                }
                // The last fork's tether is still being replaced.
                Backing::Direct { .. } if world.tether.is_none() && !world.no_tether => (),
                Backing::Direct { .. } => {
                    world.untethered |= world.tether.is_none();
                    world.freeze();
                    return ForkGuard { world };
                }
                // A child cannot ask our pager: bring everything back first. Nothing may leave meanwhile.
                Backing::Copying(_) => {
                    world.held = true;
                    let out = world.out_pages();
                    if out.is_empty() {
                        add(&world.stats.forks, 1);
                        return ForkGuard { world };
                    }
                    drop(world);
                    out.into_iter().for_each(|page| memory::bring_in(page..page + PAGE));
                    continue;
                }
            }
            drop(world);
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }

    pub fn after_fork_in_parent(&self, guard: ForkGuard<'_>) {
        let mut world = guard.world;
        world.held = false;
        if let (Mode::Paging, Some(address)) = (world.mode, world.tether.take()) {
            // SAFETY: mapped by `new_tether`; only descendants keep it.
            let _ = unsafe { memory::unmap(address..address + PAGE) };
        }
    }

    pub fn after_fork_in_child(&self, guard: ForkGuard<'_>) {
        let mut world = guard.world;
        world.mode = Mode::Child;
        world.held = false;
        world.stats = &CHILD_STATS; // the other page is the parent's
        world.spans.hide();
    }
}
