//! From page numbers to dense indices, in the order of first sight: 8 bytes a page for the number, 2 for the app, and at most
//! 9 for finding it again.

use hashbrown::HashTable;
use swaplab_vocab::{AppId, PageId};

/// Numbers of app 0 below this are looked up in a plain array (32 MiB at most): many traces number their pages from 0 or 1.
const DIRECT: u64 = 1 << 23;
const UNSEEN: u32 = u32::MAX;

#[derive(Default)]
pub struct PageMap {
    direct: Vec<u32>,
    sparse: HashTable<u32>,
    numbers: Vec<u64>,
    apps: Vec<AppId>,
}

/// Both halves of a 128-bit product, folded: the table takes its place from low bits and its tag from high ones.
#[inline]
fn hash(app: AppId, number: u64) -> u64 {
    let product = (number ^ (app as u64).rotate_right(12)) as u128 * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}

impl PageMap {
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
        let same = |page: &u32| numbers[*page as usize] == number && apps[*page as usize] == app;
        if let Some(page) = sparse.find(hash(app, number), same) {
            return *page;
        }
        let page = self.push(app, number);
        let PageMap { sparse, numbers, apps, .. } = self;
        sparse.insert_unique(hash(app, number), page, |p| hash(apps[*p as usize], numbers[*p as usize]));
        page
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
