//! From page numbers to dense indices, in the order of first sight: 8 bytes a page for the number, 2 for the app, and at most
//! 11 for finding it again. A table of our own, since none can be asked early for what it will be asked for soon: with ids all
//! over memory that takes half the time of an import.

use swaplab_vocab::{prefetch, AppId, PageId};

/// Numbers of app 0 below this are looked up in a plain array (32 MiB at most): many traces number their pages from 0 or 1.
const DIRECT: u64 = 1 << 23;
const UNSEEN: u32 = u32::MAX;

#[derive(Default)]
pub struct PageMap {
    direct: Vec<u32>,
    sparse: Table,
    numbers: Vec<u64>,
    apps: Vec<AppId>,
}

/// Pages by the hash of their app and number: open addressing with linear probing, at most three quarters full.
#[derive(Default)]
struct Table {
    /// A power of two of slots, once there is any page.
    slots: Vec<u32>,
    used: usize,
}

/// Both halves of a 128-bit product, folded: every bit of the number reaches the low bits that choose the slot.
#[inline]
fn hash(app: AppId, number: u64) -> usize {
    let product = (number ^ (app as u64).rotate_right(12)) as u128 * 0x9E37_79B9_7F4A_7C15;
    ((product >> 64) as u64 ^ product as u64) as usize
}

impl Table {
    /// The page that `same` accepts, or the empty slot where it belongs.
    #[inline]
    fn find(&self, hash: usize, same: impl Fn(PageId) -> bool) -> Result<PageId, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash & mask;
        loop {
            match self.slots[at] {
                UNSEEN => return Err(at),
                page if same(page) => return Ok(page),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Make sure that one more page leaves a quarter of the slots empty.
    fn reserve(&mut self, hash_of: impl Fn(PageId) -> usize) {
        if 4 * (self.used + 1) > 3 * self.slots.len() {
            let room = (2 * self.slots.len()).max(64);
            let pages = std::mem::replace(&mut self.slots, vec![UNSEEN; room]);
            for page in pages.into_iter().filter(|p| *p != UNSEEN) {
                if let Err(slot) = self.find(hash_of(page), |_| false) {
                    self.slots[slot] = page;
                }
            }
        }
    }
}

impl PageMap {
    /// `intern` will be called for this page: have the place where it is looked up brought near.
    #[inline]
    pub fn prefetch(&self, app: AppId, number: u64) {
        if app == 0 && number < DIRECT {
            prefetch(&self.direct, number as usize);
        } else if !self.sparse.slots.is_empty() {
            prefetch(&self.sparse.slots, hash(app, number) & (self.sparse.slots.len() - 1));
        }
    }

    /// A while after [`prefetch`](Self::prefetch), and still before `intern`: the page it probably is, whose name is brought near.
    #[inline]
    pub fn guess(&self, app: AppId, number: u64) -> Option<PageId> {
        if app == 0 && number < DIRECT {
            return self.direct.get(number as usize).copied().filter(|page| *page != UNSEEN);
        }
        let slots = &self.sparse.slots;
        let page = *slots.get(hash(app, number) & slots.len().wrapping_sub(1))?;
        prefetch(&self.numbers, page as usize);
        prefetch(&self.apps, page as usize);
        (page != UNSEEN).then_some(page)
    }

    /// The page's index: the number of pages seen so far if it is new.
    #[inline]
    pub fn intern(&mut self, app: AppId, number: u64) -> PageId {
        if app == 0 && number < DIRECT {
            match self.direct.get(number as usize) {
                Some(&page) if page != UNSEEN => page,
                _ => self.new_direct(number),
            }
        } else {
            self.intern_sparse(app, number)
        }
    }

    #[cold]
    fn new_direct(&mut self, number: u64) -> PageId {
        if number as usize >= self.direct.len() {
            self.direct.resize((number as usize + 1).next_power_of_two(), UNSEEN);
        }
        let page = self.push(0, number);
        self.direct[number as usize] = page;
        page
    }

    #[inline]
    fn intern_sparse(&mut self, app: AppId, number: u64) -> PageId {
        let PageMap { sparse, numbers, apps, .. } = self;
        sparse.reserve(|p| hash(apps[p as usize], numbers[p as usize]));
        match sparse.find(hash(app, number), |p| numbers[p as usize] == number && apps[p as usize] == app) {
            Ok(page) => page,
            Err(slot) => {
                sparse.used += 1;
                sparse.slots[slot] = numbers.len() as PageId;
                self.push(app, number)
            }
        }
    }

    fn push(&mut self, app: AppId, number: u64) -> PageId {
        self.numbers.push(number);
        self.apps.push(app);
        (self.numbers.len() - 1) as PageId
    }

    /// Numbers and apps by index.
    pub fn into_columns(self) -> (Vec<u64>, Vec<AppId>) {
        (self.numbers, self.apps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        // Few cases: a number just below DIRECT makes the array grow to its full 32 MiB.
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn numbers_pages_in_order_of_first_sight(keys in prop::collection::vec((0u16..3, prop_oneof![0u64..50, any::<u64>(), (DIRECT - 3)..(DIRECT + 3)]), 0..300)) {
            let mut map = PageMap::default();
            let mut model: HashMap<(u16, u64), u32> = HashMap::new();
            for (app, number) in keys {
                let next = model.len() as u32;
                let expected = *model.entry((app, number)).or_insert(next);
                prop_assert_eq!(map.intern(app, number), expected);
            }
            let (numbers, apps) = map.into_columns();
            prop_assert_eq!(numbers.len(), model.len());
            for ((app, number), page) in model {
                prop_assert_eq!((apps[page as usize], numbers[page as usize]), (app, number));
            }
        }
    }
}
