//! The senders of the requests in a device's queue, and the waits of the running task by sender.

use swaplab_swap::Medium;
use swaplab_vocab::{AppId, PageId};

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// A page of this owner on its way to swap, or from a cache of swap to its slot.
    SwapOut(AppId),
    /// The file system's journal.
    Journal,
    /// The device itself, which collects garbage.
    Collection,
}

impl Sender {
    pub fn name(self) -> &'static str {
        match self {
            Sender::SwapOut(_) => "swap-out",
            Sender::Journal => "journal",
            Sender::Collection => "garbage-collection",
        }
    }
}

/// Pages of a batch of requests by sender.
pub type Shares = Vec<(Sender, u64)>;

/// A page that keeps its frame until `medium` has written it, or, if the page policy took it back,
/// until a scan after that.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub page: PageId,
    pub medium: Medium,
    pub taken_back: bool,
}

/// Writes that are about to be submitted: pages that keep their frames, and pages by medium and
/// sender.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    pub held: Vec<Held>,
    pages: Vec<(Medium, Sender, u64)>,
}

impl Outgoing {
    /// Pages that keep their frames until `medium` has written them.
    #[cfg(test)]
    pub fn holding(pages: impl Iterator<Item = PageId>, medium: Medium, taken_back: bool) -> Outgoing {
        Outgoing { held: pages.map(|page| Held { page, medium, taken_back }).collect(), pages: Vec::new() }
    }

    /// Writes of `pages` pages of one sender.
    pub fn of(medium: Medium, sender: Sender, pages: u64) -> Outgoing {
        Outgoing { held: Vec::new(), pages: vec![(medium, sender, pages)] }
    }

    /// Count one page that is written to `medium`.
    pub fn note(&mut self, medium: Medium, sender: Sender) {
        match self.pages.last_mut().filter(|last| (last.0, last.1) == (medium, sender)) {
            Some(last) => last.2 += 1,
            None => self.pages.push((medium, sender, 1)),
        }
    }

    /// Add the senders of what is written to `medium` to the empty list `shares`, each once, in
    /// their order.
    pub fn shares(&self, medium: Medium, mut shares: Shares) -> Shares {
        self.pages.iter().filter(|(of, ..)| *of == medium).for_each(|(_, sender, pages)| add(&mut shares, *sender, *pages));
        shares
    }

    pub fn clear(&mut self) {
        self.held.clear();
        self.pages.clear();
    }
}

/// Add to a list by sender, which stays sorted.
pub fn add(list: &mut Shares, sender: Sender, amount: u64) {
    match list.binary_search_by_key(&sender, |(of, _)| *of) {
        Ok(at) => list[at].1 += amount,
        Err(at) => list.insert(at, (sender, amount)),
    }
}

/// Divide a wait of `ns` for a batch among its senders by their pages; the parts add up to `ns`.
pub fn divide(ns: u64, shares: &Shares, waits: &mut Shares) {
    let total: u64 = shares.iter().map(|(_, pages)| pages).sum();
    let (mut pages, mut given_ns) = (0, 0);
    for (sender, of) in shares {
        pages += of;
        let upto_ns = (u128::from(ns) * u128::from(pages) / u128::from(total.max(1))) as u64;
        if upto_ns > given_ns {
            add(waits, *sender, upto_ns - given_ns);
            given_ns = upto_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pages of app 0 and one of app 3 went to flash, in three steps: of 100 ns, 66 are for
    /// app 0.
    #[test]
    fn a_wait_is_divided_by_pages() {
        let mut outgoing = Outgoing::default();
        for (medium, app) in [(Medium::Flash, 0), (Medium::Flash, 3), (Medium::Nvm, 3), (Medium::Flash, 0)] {
            outgoing.note(medium, Sender::SwapOut(app));
        }
        let shares = outgoing.shares(Medium::Flash, Shares::new());
        assert_eq!(shares, [(Sender::SwapOut(0), 2), (Sender::SwapOut(3), 1)]);
        let mut waits = Shares::new();
        divide(100, &shares, &mut waits);
        divide(1, &vec![(Sender::Journal, 7)], &mut waits);
        assert_eq!(waits, [(Sender::SwapOut(0), 66), (Sender::SwapOut(3), 34), (Sender::Journal, 1)]);
    }
}
