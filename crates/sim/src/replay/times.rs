//! A set of times with ranks. It has one bit per time, counts of members per word of 64 times and
//! per group of 32 words, and a Fenwick tree over sections of 32 groups. A tree over words would
//! need twice as many steps for each rank and for each change.

use swaplab_vocab::prefetch;

pub struct Times {
    bits: Vec<u64>,
    words: Vec<u16>,
    groups: Vec<u16>,
    /// `sections[i]`: members in the sections that node `i` of the Fenwick tree covers.
    sections: Vec<u32>,
    next: u32,
    members: u32,
}

/// Number of words in a group, and of groups in a section.
const FAN: usize = 32;

/// The sum of the first `n` counts of a group or section. To read all counts is faster than to stop
/// after `n`. The sum fits into 16 bits: it is of at most 31 groups of 2,048 times. The function is
/// not inlined, as the compiler would make 32 branches of it.
#[inline(never)]
fn sum_of_first(counts: &[u16], n: usize) -> u32 {
    let counts: &[u16; FAN] = counts.try_into().expect("as many counts as fan out");
    u32::from(counts.iter().zip(0u16..).map(|(count, i)| if i < n as u16 { *count } else { 0 }).sum::<u16>())
}

impl Times {
    /// Create a set with room for four references to each page. Renumbering costs as much as a few
    /// references to each page.
    pub fn new(pages: usize) -> Times {
        Times::with_sections((pages * 4).div_ceil(64 * FAN * FAN) + 1)
    }

    fn with_sections(sections: usize) -> Times {
        let words = sections * FAN * FAN;
        let (groups, sections) = (vec![0; words / FAN], vec![0; sections + 1]);
        Times { bits: vec![0; words], words: vec![0; words], groups, sections, next: 1, members: 0 }
    }

    pub fn full(&self) -> bool {
        self.next as usize == self.bits.len() * 64
    }

    #[inline]
    pub fn prefetch(&self, time: u32) {
        let word = (time / 64) as usize;
        prefetch(&self.bits, word);
        prefetch(&self.words, word);
    }

    /// Change the counts for word `word` by `by` members.
    #[inline]
    fn count(&mut self, word: usize, by: i32) {
        self.members = self.members.wrapping_add_signed(by);
        self.words[word] = self.words[word].wrapping_add_signed(by as i16);
        let group = &mut self.groups[word / FAN];
        *group = group.wrapping_add_signed(by as i16);
        let mut node = word / (FAN * FAN) + 1;
        while node < self.sections.len() {
            self.sections[node] = self.sections[node].wrapping_add_signed(by);
            node += node & node.wrapping_neg();
        }
    }

    #[inline]
    pub fn push(&mut self) -> u32 {
        let time = self.next;
        self.next += 1;
        self.bits[(time / 64) as usize] |= 1 << (time % 64);
        self.count((time / 64) as usize, 1);
        time
    }

    #[inline]
    pub fn remove(&mut self, time: u32) {
        self.bits[(time / 64) as usize] &= !(1 << (time % 64));
        self.count((time / 64) as usize, -1);
    }

    /// Number of members from 1 to `time`.
    #[inline]
    fn up_to(&self, time: u32) -> u32 {
        let word = (time / 64) as usize;
        let (group, section) = (word / FAN, word / (FAN * FAN));
        let mut sum = self.within(time);
        sum += sum_of_first(&self.words[group * FAN..][..FAN], word % FAN);
        sum += sum_of_first(&self.groups[section * FAN..][..FAN], group % FAN);
        let mut node = section;
        while node > 0 {
            sum += self.sections[node];
            node &= node - 1;
        }
        sum
    }

    /// Number of members up to `time` in its word.
    #[inline]
    fn within(&self, time: u32) -> u32 {
        (self.bits[(time / 64) as usize] & (u64::MAX >> (63 - time % 64))).count_ones()
    }

    /// Number of members from `time` on: the stack depth of the member at `time`.
    #[inline]
    pub fn at_or_after(&self, time: u32) -> u32 {
        self.members - self.up_to(time) + 1
    }

    /// Renumber the members from 1. Returns a function from old to new times.
    pub fn compact(&mut self) -> impl Fn(u32) -> u32 {
        let before = std::mem::replace(self, Times::with_sections(self.sections.len() - 1));
        let ranks: Vec<u32> = before.words.iter().scan(0, |sum, count| Some(std::mem::replace(sum, *sum + u32::from(*count)))).collect();
        for _ in 0..before.members {
            self.push();
        }
        move |time| ranks[(time / 64) as usize] + before.within(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A section has 65,536 times. Of each three members one leaves.
    #[test]
    fn ranks_in_several_sections() {
        let mut times = Times::new(80_000);
        while !times.full() && times.next <= 300_000 {
            times.push();
        }
        (3..=300_000).step_by(3).for_each(|time| times.remove(time));
        assert_eq!((times.sections.len() > 5, times.members), (true, 200_000));
        for time in [1, 2, 4, 64, 65_534, 65_537, 131_071, 131_074, 196_610, 262_144, 299_999] {
            let rank = time - time / 3;
            assert_eq!((times.up_to(time), times.at_or_after(time)), (rank, 200_000 - rank + 1), "{time}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn ranks_are_those_of_a_sorted_set(steps in prop::collection::vec((any::<u32>(), 0u8..40), 1..400)) {
            // Some steps push thousands of times, so that words and groups become full.
            let mut times = Times::new(20_000);
            let mut model = BTreeSet::new();
            for (number, step) in steps {
                let some = |model: &BTreeSet<u32>| model.iter().nth(number as usize % model.len().max(1)).copied();
                match step {
                    0 => for _ in 0..number % 3000 {
                        if !times.full() {
                            model.insert(times.push());
                        }
                    },
                    1 => {
                        let renamed = times.compact();
                        let names: BTreeSet<u32> = model.iter().map(|time| renamed(*time)).collect();
                        prop_assert_eq!(&names, &(1..=model.len() as u32).collect::<BTreeSet<u32>>());
                        model = names;
                    }
                    2..=9 if !times.full() => { model.insert(times.push()); }
                    _ => if let Some(time) = some(&model) {
                        prop_assert_eq!(times.up_to(time) as usize, model.range(..=time).count());
                        prop_assert_eq!(times.at_or_after(time) as usize, model.range(time..).count());
                        if step % 2 == 0 {
                            times.remove(time);
                            model.remove(&time);
                        }
                    },
                }
            }
            prop_assert_eq!(times.members as usize, model.len());
        }
    }
}
