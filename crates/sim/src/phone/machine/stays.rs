//! Every stay of a page in swap, from the write to the release of its slot. A run of a day has
//! millions of stays, so each record is small: the death of an owner, which ends all of its stays,
//! is stored once per owner.

use crate::phone::user::owner::{shared_number, SYSTEM};
use swaplab_vocab::{AppId, PageId};

/// How a page's stay in swap ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// The page was swapped in and its slot freed.
    Copy,
    /// The page was in memory, and its slot was stale or was freed for another page.
    Discard,
    /// Its owner died.
    Owner,
}

impl Freed {
    pub fn name(self) -> &'static str {
        match self {
            Freed::Copy => "copy",
            Freed::Discard => "discard",
            Freed::Owner => "owner",
        }
    }
}

/// A page's stay in swap, from the write to the release of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    pub page: PageId,
    pub reads: u32,
    pub born_ns: u64,
    /// The time at which it ended; valid only if `how` is set.
    freed_ns: u64,
    how: Option<Freed>,
    /// An app, a range of shared pages (`shared_owner`), or `SYSTEM`.
    pub owner: AppId,
}

impl Stay {
    /// The time at which it ended, and how; `None` while it lasts.
    pub fn freed(&self) -> Option<(u64, Freed)> {
        self.how.map(|how| (self.freed_ns, how))
    }
}

/// All stays, ended or not, in the order in which they began, and the deaths of their owners.
pub struct Stays {
    all: Vec<Stay>,
    /// By app, then by range of shared pages: for each death of the owner, the number of all stays
    /// begun before it, and its time.
    deaths: Vec<Vec<(u32, u64)>>,
    apps: usize,
}

impl Stays {
    /// Create a list for `apps` apps and `shared` ranges of shared pages, with room for one stay of
    /// each of `pages` pages.
    pub fn new(apps: usize, shared: usize, pages: usize) -> Stays {
        Stays { all: Vec::with_capacity(pages), deaths: vec![Vec::new(); apps + shared], apps }
    }

    /// Begin a stay. Returns its number.
    pub fn begin(&mut self, page: PageId, owner: AppId, now_ns: u64) -> u32 {
        self.all.push(Stay { page, reads: 0, born_ns: now_ns, freed_ns: 0, how: None, owner });
        self.all.len() as u32 - 1
    }

    pub fn note_read(&mut self, number: u32) {
        if let Some(stay) = self.all.get_mut(number as usize) {
            stay.reads += 1;
        }
    }

    pub fn end(&mut self, number: u32, how: Freed, now_ns: u64) {
        if let Some(stay) = self.all.get_mut(number as usize) {
            (stay.freed_ns, stay.how) = (now_ns, Some(how));
        }
    }

    /// Note the death of an owner. It ends the lifetimes of all stays of that owner.
    pub fn owner_died(&mut self, owner: AppId, now_ns: u64) {
        let stays = self.all.len() as u32;
        if let Some(deaths) = self.index(owner).map(|index| &mut self.deaths[index]) {
            deaths.push((stays, now_ns));
        }
    }

    /// The index of an owner's list of deaths. `None` for the system, which never dies.
    fn index(&self, owner: AppId) -> Option<usize> {
        (owner != SYSTEM).then(|| shared_number(owner).map_or(usize::from(owner), |number| self.apps + number))
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Number of stays that no fault has read.
    pub fn unread(&self) -> usize {
        self.all.iter().filter(|stay| stay.reads == 0).count()
    }

    /// Every stay with the time of its owner's death, which ends its lifetime, whether it was read
    /// or not (A2S, Section 3).
    pub fn iter(&self) -> impl Iterator<Item = (&Stay, Option<u64>)> {
        self.all.iter().enumerate().map(|(number, stay)| (stay, self.died_ns(number, stay.owner)))
    }

    /// The time of the first death of `owner` after stay `number` had begun.
    fn died_ns(&self, number: usize, owner: AppId) -> Option<u64> {
        let deaths = &self.deaths[self.index(owner)?];
        deaths.get(deaths.partition_point(|(stays, _)| *stays as usize <= number)).map(|(_, at_ns)| *at_ns)
    }
}
