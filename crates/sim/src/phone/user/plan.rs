//! What is fixed before a run: the future launches, the role of each page in them, and every draw.
//! A draw depends only on the seed, the launch and the page, so all designs run the same user and
//! the same apps, and an upper bound can use the future.

use super::layout::{AppPages, Layout};
use super::owner::{shared_number, SYSTEM};
use std::sync::atomic::{AtomicU32, Ordering};
use swaplab_trace::launches::Launch;
use swaplab_vocab::{AppId, PageId};

/// The next use of a page that is not used again.
pub const NEVER: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Used at each start of its owner.
    Hot,
    /// Used with a given probability.
    Warm,
    /// Used only by a cold start.
    Cold,
}

pub struct Plan {
    seed: u64,
    launches: u32,
    /// By app, the numbers of its launches.
    of_app: Vec<Vec<u32>>,
    owners: Vec<AppId>,
    roles: Vec<Role>,
    /// By app, with the system's at the end.
    warm_probability: Vec<f64>,
    /// The number of the present launch.
    now: AtomicU32,
}

/// The purposes of draws, which are independent of each other. A change of a number changes all
/// results.
#[derive(Clone, Copy)]
pub enum Salt {
    /// Whether a launch uses a warm page.
    Warm = 1,
    /// The operation of a use until an app is ready.
    Start = 2,
    /// The operation of a use while an app is in the foreground.
    Foreground = 3,
    /// The operation of a use by other activity in the background.
    Activity = 4,
    /// Whether a page has a lasting nature, and which.
    IsLasting = 5,
    Nature = 6,
    /// The operation of a use by a service or a daemon.
    Service = 7,
}

impl Plan {
    pub fn new(seed: u64, launches: &[Launch], layout: &Layout) -> Plan {
        let mut of_app = vec![Vec::new(); layout.apps.len()];
        launches.iter().enumerate().for_each(|(number, launch)| of_app[usize::from(launch.app)].push(number as u32));
        let mut roles = vec![Role::Cold; layout.owners.len()];
        let mut mark = |pages: std::ops::Range<PageId>, part: Role| roles[pages.start as usize..pages.end as usize].fill(part);
        let all = || layout.apps.iter().chain([&layout.system]);
        for app in all().chain(layout.shared.iter().map(|shared| &shared.pages)) {
            mark(app.anon.start..app.hot_end, Role::Hot);
            mark(app.hot_end..app.warm_end, Role::Warm);
            mark(app.file.start..app.file_hot_end, Role::Hot);
        }
        let warm_probability = all().map(|app| app.warm_probability).collect();
        let owners = layout.owners.clone();
        Plan { seed, launches: launches.len() as u32, of_app, owners, roles, warm_probability, now: AtomicU32::new(0) }
    }

    /// Begin launch `number`.
    pub fn begin(&self, number: u32) {
        self.now.store(number, Ordering::Relaxed);
    }

    pub fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    /// A uniform draw from [0, 1) for one use of `page` in launch `number`. Draws with different
    /// `salt` are independent.
    pub fn chance(&self, number: u32, page: PageId, salt: Salt) -> f64 {
        // The finalizer of SplitMix64 over seed, launch, page and salt.
        let mut z = self.seed ^ (salt as u64) << 56 ^ u64::from(number) << 32 ^ u64::from(page);
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // 53 bits fit a signed number, which converts to a float in one instruction.
        ((z ^ (z >> 31)) >> 11) as i64 as f64 / (1u64 << 53) as f64
    }

    /// Whether a warm page is used in launch `number`.
    pub fn warm(&self, number: u32, page: PageId, of: &AppPages) -> bool {
        self.chance(number, page, Salt::Warm) < of.warm_probability
    }

    /// The first launch of `app` after the present one.
    pub fn next_launch(&self, app: AppId) -> Option<u32> {
        let of = &self.of_app[usize::from(app)];
        of.get(of.partition_point(|number| *number <= self.now())).copied()
    }

    /// The next launch that uses `page`, provided that its owner stays alive. `NEVER` if there is
    /// none.
    pub fn next_use(&self, page: PageId) -> u32 {
        let (owner, now) = (self.owners[page as usize], self.now());
        let probability = || self.warm_probability[usize::from(owner).min(self.of_app.len())];
        let used = |number: u32| self.chance(number, page, Salt::Warm) < probability();
        match (self.roles[page as usize], owner) {
            (Role::Cold, _) => NEVER,
            (Role::Hot, owner) if owner == SYSTEM || shared_number(owner).is_some() => now + 1,
            (Role::Hot, app) => self.next_launch(app).unwrap_or(NEVER),
            (Role::Warm, SYSTEM) => (now + 1..self.launches).find(|n| used(*n)).unwrap_or(NEVER),
            (Role::Warm, app) => {
                let of = &self.of_app[usize::from(app)];
                of[of.partition_point(|n| *n <= now)..].iter().copied().find(|n| used(*n)).unwrap_or(NEVER)
            }
        }
    }
}
