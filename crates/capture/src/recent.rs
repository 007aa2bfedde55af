//! An LRU list of at most a given number of pages, linked by index, so that every operation takes
//! constant time.

const NONE: u32 = u32::MAX;
/// The value in `next` of a page that is not in the list.
const ABSENT: u32 = u32::MAX - 1;

pub struct Recent {
    capacity: usize,
    length: usize,
    head: u32,
    tail: u32,
    next: Vec<u32>,
    previous: Vec<u32>,
}

/// The result of touching a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Hit,
    /// The page was not in the list. If the list was full, its least recent page was evicted and is
    /// given here.
    Miss(Option<u32>),
}

impl Recent {
    pub fn new(capacity: usize) -> Recent {
        assert!(capacity > 0, "a list of recent pages holds at least one");
        Recent { capacity, length: 0, head: NONE, tail: NONE, next: Vec::new(), previous: Vec::new() }
    }

    pub fn contains(&self, page: u32) -> bool {
        self.next.get(page as usize).is_some_and(|n| *n != ABSENT)
    }

    #[inline]
    pub fn touch(&mut self, page: u32) -> Touch {
        if self.head == page {
            return Touch::Hit;
        }
        if self.remove(page) {
            self.push(page);
            return Touch::Hit;
        }
        let evicted = (self.length == self.capacity).then_some(self.tail);
        if let Some(oldest) = evicted {
            self.remove(oldest);
        }
        self.push(page);
        Touch::Miss(evicted)
    }

    /// Remove the page. Returns whether it was in the list.
    pub fn remove(&mut self, page: u32) -> bool {
        if !self.contains(page) {
            return false;
        }
        let (next, previous) = (self.next[page as usize], self.previous[page as usize]);
        match previous {
            NONE => self.head = next,
            p => self.next[p as usize] = next,
        }
        match next {
            NONE => self.tail = previous,
            n => self.previous[n as usize] = previous,
        }
        self.next[page as usize] = ABSENT;
        self.length -= 1;
        true
    }

    fn push(&mut self, page: u32) {
        if page as usize >= self.next.len() {
            self.next.resize(page as usize + 1, ABSENT);
            self.previous.resize(page as usize + 1, NONE);
        }
        self.next[page as usize] = self.head;
        self.previous[page as usize] = NONE;
        match self.head {
            NONE => self.tail = page,
            h => self.previous[h as usize] = page,
        }
        self.head = page;
        self.length += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(capacity in 1usize..6, steps in prop::collection::vec((any::<bool>(), 0u32..9), 0..80)) {
            let mut fast = Recent::new(capacity);
            let mut plain: Vec<u32> = Vec::new(); // the most recent first
            for (remove, page) in steps {
                let at = plain.iter().position(|p| *p == page);
                if remove {
                    prop_assert_eq!(fast.remove(page), at.is_some());
                    at.map(|i| plain.remove(i));
                } else {
                    let expected = match at {
                        Some(i) => { plain.remove(i); Touch::Hit }
                        None => Touch::Miss((plain.len() == capacity).then(|| plain.pop().unwrap())),
                    };
                    plain.insert(0, page);
                    prop_assert_eq!(fast.touch(page), expected);
                }
                (0..9).for_each(|p| assert_eq!(fast.contains(p), plain.contains(&p)));
            }
        }
    }
}
