//! Every stay of a page in swap, from the write to the release of its slot. A run of a day has millions of them, so each takes as little
//! memory as it can: what holds for all stays of an owner, its death, is kept once an owner.

use crate::phone::user::owner::{shared_number, SYSTEM};
use swaplab_vocab::{AppId, PageId};

/// How a page's stay in swap ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// The page was brought in and its slot given up.
    Copy,
    /// The content went stale, or its slot was given up for another page, while the page was in memory.
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

/// A page's stay in swap, from the write to the freeing of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    pub page: PageId,
    pub reads: u32,
    pub born_ns: u64,
    /// When it ended, if it has.
    freed_ns: u64,
    how: Option<Freed>,
    /// `SYSTEM` for system processes, below it a range of shared pages.
    pub owner: AppId,
}

impl Stay {
    /// When it ended, and how; nothing while it lasts.
    pub fn freed(&self) -> Option<(u64, Freed)> {
        self.how.map(|how| (self.freed_ns, how))
    }
}

/// All stays, ended or not, by the time that they began, and the deaths of their owners.
pub struct Stays {
    all: Vec<Stay>,
    /// By app, then by range of shared pages: the stays that there were at each death of the owner, and its time.
    deaths: Vec<Vec<(u32, u64)>>,
    apps: usize,
}

impl Stays {
    /// Of the pages of so many apps and ranges of shared pages.
    pub fn new(apps: usize, shared: usize) -> Stays {
        Stays { all: Vec::new(), deaths: vec![Vec::new(); apps + shared], apps }
    }

    /// A stay begins; its number.
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

    /// An owner has died, and with it the lifetimes of its stays.
    pub fn owner_died(&mut self, owner: AppId, now_ns: u64) {
        let stays = self.all.len() as u32;
        if let Some(deaths) = self.index(owner).map(|index| &mut self.deaths[index]) {
            deaths.push((stays, now_ns));
        }
    }

    /// Where an owner's deaths are listed; the system, which never dies, has no such list.
    fn index(&self, owner: AppId) -> Option<usize> {
        (owner != SYSTEM).then(|| shared_number(owner).map_or(usize::from(owner), |number| self.apps + number))
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Stays that no fault has read.
    pub fn unread(&self) -> usize {
        self.all.iter().filter(|stay| stay.reads == 0).count()
    }

    /// Every stay, with the time of its owner's death: where its lifetime ends, read or not (A2S, Section 3).
    pub fn iter(&self) -> impl Iterator<Item = (&Stay, Option<u64>)> {
        self.all.iter().enumerate().map(|(number, stay)| (stay, self.died_ns(number, stay.owner)))
    }

    /// The first death of `owner` after stay `number` had begun.
    fn died_ns(&self, number: usize, owner: AppId) -> Option<u64> {
        let deaths = &self.deaths[self.index(owner)?];
        deaths.get(deaths.partition_point(|(stays, _)| *stays as usize <= number)).map(|(_, at_ns)| *at_ns)
    }
}
