//! Maps page numbers to dense indices, in order of first reference. The entry of a page is at a
//! single place: 4 bytes in an array for small numbers, 16 bytes in a hash table for others. A
//! reference therefore costs one memory access, which can be prefetched. For sparse page numbers
//! these accesses dominate the time of an import.

use swaplab_vocab::{prefetch, Access, AppId, Op, PageId};

/// Page numbers of app 0 below this are looked up in an array (32 MiB at most), because many traces
/// number pages from 0 or 1.
const DIRECT: u64 = 1 << 23;

/// A page's index plus one in the upper 30 bits, and the operations seen in the lower two; 0 if
/// there is no page.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Entry(u32);

/// The bits that each operation sets in an entry; a read sets none.
const SEEN: [u32; 3] = [0, WRITTEN as u32, FETCHED as u32];
pub const WRITTEN: u8 = 1;
pub const FETCHED: u8 = 2;

impl Entry {
    fn new(page: PageId) -> Entry {
        Entry((page + 1) << 2)
    }

    #[inline]
    fn page(self) -> Option<PageId> {
        (self.0 >> 2).checked_sub(1)
    }

    fn seen(self) -> u8 {
        (self.0 & 3) as u8
    }
}

/// A reference: page number, app and operation.
pub type Named = (u64, AppId, Op);

/// Distance, in references, at which entries are prefetched.
pub const AHEAD: usize = 32;

#[derive(Default)]
pub struct PageMap {
    direct: Vec<Entry>,
    sparse: Table,
    pages: usize,
}

/// Pages by the hash of their app and number: open addressing with linear probing, at most three
/// quarters full.
#[derive(Default)]
struct Table {
    /// The slots. Their number is a power of two, or 0 before the first page.
    slots: Vec<Slot>,
    used: usize,
    /// Right shift of a hash that gives the first slot of the search. Using the high bits keeps the
    /// order of pages when the table doubles, so that growing accesses both tables sequentially.
    shift: u32,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    number: u64,
    entry: Entry,
    app: AppId,
}

impl Slot {
    /// Whether the slot is that of the page. Page 0 of app 0 also matches an empty slot.
    #[inline]
    fn is_of(&self, app: AppId, number: u64) -> bool {
        self.number == number && self.app == app
    }
}

/// Initial number of slots.
const FEWEST: usize = 64;

/// A multiplicative hash that folds both halves of a 128-bit product, so that every bit of the
/// number affects the high bits.
#[inline]
fn hash(app: AppId, number: u64) -> u64 {
    let product = (number ^ (app as u64).rotate_right(12)) as u128 * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}

impl Table {
    /// Insert an absent page into the first empty slot of its search.
    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = (hash(slot.app, slot.number) >> self.shift) as usize;
        while self.slots[at].entry != Entry::default() {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// As [`put`](Table::put), growing the table if necessary.
    #[cold]
    fn insert(&mut self, slot: Slot) {
        if 4 * (self.used + 1) > 3 * self.slots.len() {
            let room = (2 * self.slots.len()).max(FEWEST);
            let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); room]);
            self.shift = 64 - room.trailing_zeros();
            slots.into_iter().filter(|slot| slot.entry != Entry::default()).for_each(|slot| self.put(slot));
        }
        self.put(slot);
        self.used += 1;
    }
}

impl PageMap {
    /// Number the first `count` of `references`, up to the first reference to a new page. Returns
    /// how many were numbered. The loop is kept short so that the processor can overlap the memory
    /// accesses of many references.
    pub fn number(&mut self, references: &[Named], count: usize, numbered: &mut Vec<Access>) -> usize {
        let Table { slots, shift, .. } = &mut self.sparse;
        let mask = slots.len().wrapping_sub(1);
        for (at, (number, app, op)) in references[..count].iter().enumerate() {
            if let Some((number, app, _)) = references.get(at + AHEAD) {
                if *app == 0 && *number < DIRECT {
                    prefetch(&self.direct, *number as usize);
                } else {
                    prefetch(slots, (hash(*app, *number) >> *shift) as usize);
                }
            }
            let entry = if *app == 0 && *number < DIRECT {
                self.direct.get_mut(*number as usize)
            } else {
                let mut place = (hash(*app, *number) >> *shift) as usize;
                loop {
                    match slots.get(place & mask) {
                        Some(slot) if slot.is_of(*app, *number) => break slots.get_mut(place & mask).map(|slot| &mut slot.entry),
                        Some(slot) if slot.entry != Entry::default() => place += 1,
                        _ => break None,
                    }
                }
            };
            let Some((entry, page)) = entry.and_then(|entry| entry.page().map(|page| (entry, page))) else { return at };
            entry.0 |= SEEN[*op as usize];
            numbered.push(Access::new(page, *op));
        }
        count
    }

    /// Add a new page. Returns its index, which is the number of earlier pages.
    #[cold]
    #[inline(never)]
    pub fn first(&mut self, app: AppId, number: u64, op: Op) -> PageId {
        let page = self.pages as PageId;
        self.pages += 1;
        let entry = Entry(Entry::new(page).0 | SEEN[op as usize]);
        if app == 0 && number < DIRECT {
            if number as usize >= self.direct.len() {
                self.direct.resize((number as usize + 1).next_power_of_two(), Entry::default());
            }
            self.direct[number as usize] = entry;
        } else {
            self.sparse.insert(Slot { number, entry, app });
        }
        page
    }

    /// Numbers, apps and operations seen ([`WRITTEN`], [`FETCHED`]), by index.
    pub fn into_columns(self) -> (Vec<u64>, Vec<AppId>, Vec<u8>) {
        let (mut numbers, mut apps, mut seen) = (vec![0; self.pages], vec![0; self.pages], vec![0; self.pages]);
        let direct = self.direct.into_iter().zip(0..).map(|(entry, number)| Slot { number, entry, app: 0 });
        for Slot { number, entry, app } in direct.chain(self.sparse.slots) {
            if let Some(page) = entry.page() {
                let page = page as usize;
                (numbers[page], apps[page], seen[page]) = (number, app, entry.seen());
            }
        }
        (numbers, apps, seen)
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
        fn numbers_pages_in_order_of_first_sight(keys in prop::collection::vec((0u16..3, prop_oneof![0u64..50, any::<u64>(), (DIRECT - 3)..(DIRECT + 3)], 0usize..3), 0..300)) {
            let mut map = PageMap::default();
            let mut model: HashMap<(u16, u64), (u32, u8)> = HashMap::new();
            let mut numbered = Vec::new();
            for (app, number, op) in keys {
                let next = model.len() as u32;
                let (expected, seen) = model.entry((app, number)).or_insert((next, 0));
                *seen |= [0, WRITTEN, FETCHED][op];
                let reference = (number, app, [Op::Read, Op::Write, Op::Fetch][op]);
                numbered.clear();
                if map.number(&[reference], 1, &mut numbered) == 0 {
                    numbered.push(Access::new(map.first(app, number, reference.2), reference.2));
                }
                prop_assert_eq!(&numbered, &[Access::new(*expected, reference.2)]);
            }
            let (numbers, apps, seen) = map.into_columns();
            prop_assert_eq!(numbers.len(), model.len());
            for ((app, number), (page, bits)) in model {
                prop_assert_eq!((apps[page as usize], numbers[page as usize], seen[page as usize]), (app, number, bits));
            }
        }
    }
}
