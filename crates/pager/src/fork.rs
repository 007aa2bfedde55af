//! The work of a forking thread before and after the fork. `tether.rs` explains why slots are
//! frozen.

use crate::kernel::memory;
use crate::kernel::PAGE;
use crate::stats::add;
use crate::world::{Backing, Mode};
use crate::{Pager, WorldGuard};

/// The locked world, which the forking thread holds during the fork.
pub struct ForkGuard<'a> {
    world: WorldGuard<'a>,
}

static CHILD_STATS: crate::stats::Stats = crate::stats::Stats::new();

impl Pager {
    /// Prepare a fork: wait until no eviction runs, and prevent evictions while the guard exists.
    pub fn before_fork(&self) -> ForkGuard<'_> {
        loop {
            let mut world = self.lock_world();
            if world.mode == Mode::Child {
                return ForkGuard { world };
            }
            match world.backing {
                Backing::Nowhere => {
                    add(&world.stats.forks, 1);
                    return ForkGuard { world };
                }
                // The pager thread has not replaced the last fork's tether yet: wait.
                Backing::Direct { .. } if world.forks.tether.is_none() && !world.forks.no_tether => (),
                Backing::Direct { .. } => {
                    world.forks.untethered |= world.forks.tether.is_none();
                    world.freeze();
                    return ForkGuard { world };
                }
                // The pager does not serve a child's faults: swap everything in first, with
                // evictions paused.
                Backing::Copying(_) => {
                    world.forks.evictions_paused = true;
                    let out = world.out_pages();
                    if out.is_empty() {
                        add(&world.stats.forks, 1);
                        return ForkGuard { world };
                    }
                    drop(world);
                    out.into_iter().for_each(|page| memory::populate(page..page + PAGE));
                    continue;
                }
            }
            drop(world);
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }

    pub fn after_fork_in_parent(&self, guard: ForkGuard<'_>) {
        let mut world = guard.world;
        world.forks.evictions_paused = false;
        if let (Mode::Paging, Some(address)) = (world.mode, world.forks.tether.take()) {
            // SAFETY: mapped by `new_tether`; only descendants keep their mappings.
            let _ = unsafe { memory::unmap(address..address + PAGE) };
        }
    }

    pub fn after_fork_in_child(&self, guard: ForkGuard<'_>) {
        let mut world = guard.world;
        world.mode = Mode::Child;
        world.forks.evictions_paused = false;
        world.stats = &CHILD_STATS; // The mapped counters are the parent's.
        world.spans.hide();
    }
}
