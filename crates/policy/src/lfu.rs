//! What: evicts the page with the fewest references since it came in; among equals, the one that has had that count longest.
//! Why: the yardstick of frequency, as LRU is that of recency.
//! Source: the constant-time list of counts of Shah, Mitra and Matani, "An O(1) algorithm for implementing the LFU cache
//! eviction scheme", 2010.
//! Deviations: counts are forgotten at eviction (in-cache LFU).
//! Weakness: never forgets past glory while a page stays; a new page is the first to go, however soon it is needed again.

use crate::links::{Links, List};
use crate::{Describe, Info, Pages, Params, Policy, Setup, Signal};
use swaplab_vocab::{prefetch, Op, PageId, Result};

/// All pages in one list: the most used at the front; among equals the newest in its class.
const PAGES: List = List(0);
/// The class of count 0 lies behind the list's end and holds no page.
const GROUND: u32 = 0;

/// Pages of one count. They stand together in the list, `newest` foremost.
#[derive(Clone, Copy)]
struct Class {
    count: u64,
    members: u32,
    newest: PageId,
    /// Neighbouring classes: next higher and next lower count.
    up: u32,
    down: u32,
}

pub struct LfuPolicy {
    links: Links,
    class_of: Vec<u32>,
    /// A ring through `up` and `down` that begins at the ground.
    classes: Vec<Class>,
    free: Vec<u32>,
}

impl Describe for LfuPolicy {
    const INFO: Info = Info {
        key: "lfu",
        what: "least frequently used since it came in",
        source: "Shah, Mitra and Matani 2010",
        signal: Signal::Exact,
        offline: false,
        parameters: &[],
    };

    fn build(setup: &Setup, _: &Params) -> Result<LfuPolicy> {
        let links = Links::new(setup.pages, 1);
        let ground = Class { count: 0, members: 0, newest: links.sentinel(PAGES), up: GROUND, down: GROUND };
        Ok(LfuPolicy { links, class_of: vec![GROUND; setup.pages], classes: vec![ground], free: Vec::new() })
    }
}

impl LfuPolicy {
    /// Put a page that is in no class on top of the class whose count is one above that of `below`.
    #[inline]
    fn enter_above(&mut self, below: u32, page: PageId) {
        let Class { count, newest, up, .. } = self.classes[below as usize];
        if self.classes[up as usize].count == count + 1 {
            return self.join(up, page);
        }
        let class = Class { count: count + 1, members: 1, newest: page, up, down: below };
        let new = self.free.pop().unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() as u32 - 1
        });
        self.classes[new as usize] = class;
        self.classes[below as usize].up = new;
        self.classes[up as usize].down = new;
        self.class_of[page as usize] = new;
        self.links.insert_before(PAGES, newest, page);
    }

    #[inline]
    fn join(&mut self, home: u32, page: PageId) {
        let class = &mut self.classes[home as usize];
        class.members += 1;
        self.links.insert_before(PAGES, std::mem::replace(&mut class.newest, page), page);
        self.class_of[page as usize] = home;
    }

    /// Take a page out of the list and its class.
    #[inline]
    fn leave(&mut self, page: PageId) {
        let home = self.class_of[page as usize];
        let class = &mut self.classes[home as usize];
        class.members -= 1;
        if class.members == 0 {
            let Class { up, down, .. } = *class;
            self.classes[down as usize].up = up;
            self.classes[up as usize].down = down;
            self.free.push(home);
        } else if class.newest == page {
            class.newest = self.links.after(page).expect("an older page of the class follows");
        }
        self.links.remove(PAGES, page);
    }
}

impl Policy for LfuPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        self.links.prefetch(page);
        prefetch(&self.class_of, page as usize);
    }

    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &Pages) {
        let home = self.class_of[page as usize];
        let Class { count, members, up, .. } = self.classes[home as usize];
        if members > 1 {
            self.leave(page);
            self.enter_above(home, page);
        } else if self.classes[up as usize].count == count + 1 {
            self.leave(page);
            self.join(up, page);
        } else {
            self.classes[home as usize].count += 1; // alone with its count: the class moves up
        }
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut Pages) {
        if let Some(victim) = self.links.back(PAGES) {
            self.leave(victim);
            pages.release(victim);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut Pages) {
        self.enter_above(GROUND, page);
    }

    fn forget(&mut self, page: PageId) {
        if self.links.contains(page) {
            self.leave(page);
        }
    }

    fn check(&self, pages: &Pages) -> std::result::Result<(), String> {
        self.links.check(PAGES)?;
        crate::check_residency(pages, self.links.iter(PAGES))?;
        // From the back of the list upwards, class by class.
        let mut at = self.classes[GROUND as usize];
        let mut home = GROUND;
        let mut page = self.links.back(PAGES);
        while at.up != GROUND {
            let (below, count) = (home, at.count);
            (home, at) = (at.up, self.classes[at.up as usize]);
            if at.count <= count || at.down != below || at.members == 0 {
                return Err(format!("class {home} of count {} and {} members stands above {count}", at.count, at.members));
            }
            for left in (0..at.members).rev() {
                let here = page.filter(|p| self.class_of[*p as usize] == home && (left > 0 || at.newest == *p));
                page = self.links.before(here.ok_or(format!("class {home} of count {} is not together", at.count))?);
            }
        }
        page.map_or(Ok(()), |page| Err(format!("page {page} is in no class")))
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn the_least_used_goes_and_among_equals_the_first_to_have_that_count() {
        let mut lfu = Plain::new("lfu", 10, 3);
        // Counts: 1 twice, 2 twice, 3 three times; 1 reached two before 2.
        assert_eq!(lfu.faults(&[2, 1, 3, 1, 2, 3, 3]), 3);
        assert_eq!(lfu.faults(&[4]), 1);
        assert_eq!(lfu.resident(), [2, 3, 4]);
        // 4 has one use; back comes 1 with its count forgotten, and goes first in turn.
        assert_eq!(lfu.faults(&[1]), 1);
        assert_eq!(lfu.resident(), [1, 2, 3]);
        assert_eq!(lfu.faults(&[5]), 1);
        assert_eq!(lfu.resident(), [2, 3, 5]);
    }
}
