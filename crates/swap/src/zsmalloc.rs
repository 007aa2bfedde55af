//! Memory that the kernel's allocator for compressed objects takes (`mm/zsmalloc.c`). Its size
//! classes are 16 bytes apart; each class allocates groups of one to eight pages, the number that
//! wastes least.
//!
//! All groups are counted as packed full, which holds right after storing and after a compaction.
//! The holes that freed objects leave until the next compaction are not modeled.

use swaplab_vocab::PAGE_SIZE;

/// `CONFIG_ZSMALLOC_CHAIN_SIZE`: maximum number of pages in a group.
pub const CHAIN: u64 = 8;
const SMALLEST: u64 = 32;
const STEP: u64 = 16;
/// Size of the handle that is stored with every object, in bytes.
const HANDLE: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    objects_per_group: u64,
    pages_per_group: u64,
}

/// The compressed objects of a pool, counted by class.
pub struct Pool {
    classes: Vec<Class>,
    /// By size in steps of 16 bytes: the class of such an object.
    class_of: Vec<usize>,
    /// Number of objects of each class, and of places that are left in the last of its groups.
    objects: Vec<u64>,
    places: Vec<u64>,
    /// Objects of at least this size take a whole page (`zs_huge_class_size`).
    huge: u64,
    pages: u64,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool::new()
    }
}

impl Pool {
    pub fn new() -> Pool {
        let steps = (PAGE_SIZE - SMALLEST) / STEP + 1;
        let (mut classes, mut class_of, mut huge) = (Vec::new(), vec![0; steps as usize], 0);
        // From the largest size down: a size joins the class of the next larger one if their groups
        // have the same shape.
        for step in (0..steps).rev() {
            let size = SMALLEST + step * STEP;
            let pages_per_group = chain(size);
            let class = Class { objects_per_group: pages_per_group * PAGE_SIZE / size, pages_per_group };
            if class.objects_per_group != 1 && huge == 0 {
                huge = size - (HANDLE - 1);
            }
            if classes.last() != Some(&class) {
                classes.push(class);
            }
            class_of[step as usize] = classes.len() - 1;
        }
        let (objects, places) = (vec![0; classes.len()], vec![0; classes.len()]);
        Pool { classes, class_of, objects, places, huge, pages: 0 }
    }

    /// Bytes that zram stores for an object of `bytes`: a whole page if the object is huge.
    pub fn stored(&self, bytes: u32) -> u32 {
        if u64::from(bytes) >= self.huge {
            PAGE_SIZE as u32
        } else {
            bytes
        }
    }

    fn class(&self, bytes: u32) -> usize {
        let size = if u64::from(bytes) >= self.huge { PAGE_SIZE } else { u64::from(bytes) + HANDLE };
        self.class_of[size.max(SMALLEST).saturating_sub(SMALLEST).div_ceil(STEP) as usize]
    }

    /// Whether an object of `new` bytes is in a class of smaller objects than one of `old` bytes.
    pub fn is_in_smaller_class(&self, new: u32, old: u32) -> bool {
        self.class(new) > self.class(old)
    }

    pub fn add(&mut self, bytes: u32) {
        let class = self.class(bytes);
        self.objects[class] += 1;
        if self.places[class] == 0 {
            self.places[class] = self.classes[class].objects_per_group;
            self.pages += self.classes[class].pages_per_group;
        }
        self.places[class] -= 1;
    }

    pub fn remove(&mut self, bytes: u32) {
        let class = self.class(bytes);
        self.objects[class] = self.objects[class].checked_sub(1).expect("an object removed that was never added");
        self.places[class] += 1;
        if self.places[class] == self.classes[class].objects_per_group {
            self.places[class] = 0;
            self.pages -= self.classes[class].pages_per_group;
        }
    }

    /// Size of the pool in bytes after adding an object of `bytes`.
    pub fn bytes_with(&self, bytes: u32) -> u64 {
        let class = self.class(bytes);
        let new_group = if self.places[class] == 0 { self.classes[class].pages_per_group } else { 0 };
        (self.pages + new_group) * PAGE_SIZE
    }

    pub fn objects(&self) -> u64 {
        self.objects.iter().sum()
    }

    /// Size of the pool, that is, of all groups, in bytes.
    pub fn bytes(&self) -> u64 {
        self.pages * PAGE_SIZE
    }
}

/// The number of pages in a group that wastes least for objects of `size`. It is 1 if the size is a
/// power of two.
fn chain(size: u64) -> u64 {
    if size.is_power_of_two() {
        return 1;
    }
    (1..=CHAIN).min_by_key(|pages| pages * PAGE_SIZE % size).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_waste_little() {
        // 3264 bytes: four groups of 4 pages hold 5; 1360: one page holds 3; a power of two: one
        // page
        assert_eq!((chain(3264), chain(1360), chain(2048), chain(4096)), (4, 1, 1, 1));
    }

    #[test]
    fn pages_of_a_pool_by_hand() {
        let mut pool = Pool::new();
        // 2040 bytes with a handle are 2048: two in a page
        (0..5).for_each(|_| pool.add(2040));
        assert_eq!((pool.objects(), pool.bytes()), (5, 3 * 4096));
        (0..2).for_each(|_| pool.remove(2040));
        assert_eq!(pool.bytes(), 2 * 4096);
        // what does not shrink takes a page each
        (0..3).for_each(|_| pool.add(4096));
        assert_eq!(pool.bytes(), 5 * 4096);
        assert_eq!((pool.stored(4000), pool.stored(100)), (4096, 100));
        (0..3).for_each(|_| pool.remove(4096));
        (0..3).for_each(|_| pool.remove(2040));
        assert_eq!((pool.objects(), pool.bytes()), (0, 0));
    }

    #[test]
    fn every_size_has_a_class_that_holds_it() {
        let pool = Pool::new();
        for bytes in 1..=4096u32 {
            let class = pool.classes[pool.class(bytes)];
            let object = class.pages_per_group * PAGE_SIZE / class.objects_per_group;
            assert!(object >= u64::from(bytes), "{bytes} bytes in objects of {object}");
            let mut single = Pool::new();
            single.add(bytes);
            assert_eq!((pool.bytes_with(bytes), single.bytes()), (single.bytes(), class.pages_per_group * PAGE_SIZE));
        }
        // 3632 bytes: nine objects in eight pages are the largest that share pages
        assert_eq!(pool.huge, 3632 - 7);
    }
}
