//! The shadows of the regions: the pages that left each ring last, up to a limit.
//!
//! A page that leaves a ring gets the region's next number. It is in the shadow while it has a
//! number that is not below the region's oldest one, so a lookup is one comparison. A page that is
//! hit gives up its number, and a bit is set for the number. When the oldest page is dropped, these
//! bits say how far the oldest number advances, so nothing of the dropped page is read.

use super::balance::{Balance, Region};
use super::state::NUMBERS;

/// Numbers of a word of bits.
const WORD: u32 = u64::BITS;

/// The shadows of all regions. Fields that every fault reads are adjacent.
pub struct Shadows {
    /// The oldest number in use, and the number of the next page.
    oldest: [u32; 4],
    next: [u32; 4],
    /// Number of pages beyond the limit; negative if there is room.
    excess: [i32; 4],
    limit: [i32; 4],
    /// Bits of the regions whose excess has increased since the last trim.
    grown: u32,
    /// All numbers are below this one.
    end: u32,
    /// For each number from the oldest on, whether it was given up.
    given_up: Vec<[u64; 4]>,
}

impl Shadows {
    /// Empty shadows, each with room for all `pages`, which must be fewer than [`NUMBERS`].
    pub fn new(pages: usize) -> Shadows {
        // With twice as many numbers as pages, renumbering is rare.
        let end = (2 * pages + 2).min(NUMBERS);
        let given_up = vec![[0; 4]; end.div_ceil(WORD as usize)];
        Shadows { oldest: [1; 4], next: [1; 4], excess: [0; 4], limit: [0; 4], grown: 0, end: end as u32, given_up }
    }

    /// Number of pages.
    pub fn len(&self, region: Region) -> usize {
        (self.limit[region] + self.excess[region]) as usize
    }

    /// Set the limits. Pages beyond them leave at the next [`trim`](Self::trim).
    pub fn set_limits(&mut self, balance: &Balance) {
        for region in 0..4 {
            let limit = balance.shadow_size(region).min(NUMBERS) as i32;
            self.excess[region] += self.limit[region] - limit;
            self.limit[region] = limit;
        }
        self.grown = 0b1111;
    }

    /// Whether the page with this number, the last that the region gave it, is in the shadow. No
    /// page has the number 0.
    #[inline(always)]
    pub fn holds(&self, region: Region, number: u32) -> bool {
        number >= self.oldest[region]
    }

    /// Whether the pages must be renumbered by [`begin_anew`](Self::begin_anew) before the next one
    /// enters.
    #[inline(always)]
    pub fn is_out_of_numbers(&self, region: Region) -> bool {
        self.next[region] == self.end
    }

    /// Add a page. Returns its number.
    #[inline(always)]
    pub fn push(&mut self, region: Region) -> u32 {
        self.excess[region] += 1;
        self.grown |= 1 << region;
        self.next[region] += 1;
        self.next[region] - 1
    }

    /// Remove the page with this number, if it is in the shadow.
    #[inline(always)]
    pub fn remove(&mut self, region: Region, number: u32) {
        if self.holds(region, number) {
            self.give_up(region, number);
        }
    }

    /// Remove the page with this number, which is in the shadow.
    #[inline]
    pub fn give_up(&mut self, region: Region, number: u32) {
        self.given_up[(number / WORD) as usize][region] |= 1 << (number % WORD);
        self.excess[region] -= 1;
    }

    /// Drop the oldest pages of every shadow beyond its limit, at the end of a fault.
    #[inline(always)]
    pub fn trim(&mut self) {
        let mut grown = std::mem::take(&mut self.grown);
        while grown != 0 {
            let region = grown.trailing_zeros() as Region & 3;
            while self.excess[region] > 0 {
                self.drop_oldest(region);
            }
            grown &= grown - 1;
        }
    }

    #[inline(always)]
    fn drop_oldest(&mut self, region: Region) {
        let mut number = self.oldest[region];
        loop {
            let bit = number % WORD;
            let skipped = (self.given_up[(number / WORD) as usize][region] >> bit).trailing_ones();
            number += skipped;
            if bit + skipped < WORD {
                break;
            }
        }
        self.oldest[region] = number + 1;
        self.excess[region] -= 1;
    }

    /// Renumber the pages from 1, in the same order. Returns a function from the old number of a
    /// page to its new one.
    #[cold]
    pub fn begin_anew(&mut self, region: Region) -> impl Fn(u32) -> u32 {
        let given_up: Vec<u64> = self.given_up.iter_mut().map(|words| std::mem::take(&mut words[region])).collect();
        // Number of numbers given up before each word.
        let sums = given_up.iter().scan(0, |sum, word| {
            *sum += word.count_ones();
            Some(*sum)
        });
        let before: Vec<u32> = std::iter::once(0).chain(sums).collect();
        let place = move |number: u32| {
            let (word, bit) = ((number / WORD) as usize, number % WORD);
            let beside = given_up.get(word).map_or(0, |word| (word & ((1 << bit) - 1)).count_ones());
            number - before[word] - beside
        };
        let (oldest, first) = (self.oldest[region], place(self.oldest[region]));
        let anew = move |number| if number < oldest { 0 } else { place(number) - first + 1 };
        (self.oldest[region], self.next[region]) = (1, anew(self.next[region]));
        anew
    }

    /// Check a region's shadow, in which `pages` pages have a number.
    pub fn check(&self, region: Region, pages: usize) -> Result<(), String> {
        let is_given_up = |n: &u32| self.given_up[(n / WORD) as usize][region] >> (n % WORD) & 1 != 0;
        let numbers = (self.oldest[region]..self.next[region]).filter(|n| !is_given_up(n)).count();
        if self.excess[region] > 0 || self.len(region) != pages || numbers != pages {
            return Err(format!("the shadow of region {region} counts {}, has {numbers} numbers and {pages} pages", self.len(region)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::spo_clock::Shrink;
    use crate::Costs;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Against queues of pages. With so few pages the numbers begin anew many times.
        #[test]
        fn they_behave_as_queues(steps in prop::collection::vec((0usize..60, 0usize..4, 0u8..9), 0..3000)) {
            let costs = Costs { swap_read_ns: 1, swap_write_ns: 5, file_read_ns: 2, file_write_ns: 3 };
            let mut balance = Balance::new(40, 4, &costs, 1, Shrink::RoundRobin);
            let (mut shadows, mut numbers) = (Shadows::new(60), [[0; 60]; 4]);
            let mut model = [(); 4].map(|()| VecDeque::new());
            shadows.set_limits(&balance);
            for (page, region, step) in steps {
                match step {
                    0..=4 if !model[region].contains(&page) => {
                        if shadows.is_out_of_numbers(region) {
                            numbers[region] = numbers[region].map(shadows.begin_anew(region));
                        }
                        numbers[region][page] = shadows.push(region);
                        model[region].push_back(page);
                    }
                    5 => {
                        shadows.remove(region, std::mem::take(&mut numbers[region][page]));
                        model[region].retain(|p| *p != page);
                    }
                    6 if balance.shadow_hit(region) => shadows.set_limits(&balance),
                    7 | 8 => {
                        for (region, pages) in model.iter_mut().enumerate() {
                            pages.drain(..pages.len().saturating_sub(balance.shadow_size(region)));
                        }
                        shadows.trim();
                        for (region, pages) in model.iter().enumerate() {
                            prop_assert_eq!(shadows.check(region, pages.len()), Ok(()));
                        }
                    }
                    _ => {}
                }
                let held: Vec<bool> = numbers[region].iter().map(|number| shadows.holds(region, *number)).collect();
                prop_assert_eq!(held, (0..60).map(|page| model[region].contains(&page)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn numbers_begin_anew_in_the_same_order() {
        let mut shadows = Shadows::new(3);
        assert!(!shadows.is_out_of_numbers(0));
        let mut numbers = [(); 3].map(|()| shadows.push(0));
        for _ in 0..1000 {
            if shadows.is_out_of_numbers(0) {
                numbers = numbers.map(shadows.begin_anew(0));
            }
            shadows.give_up(0, numbers[1]);
            numbers[1] = shadows.push(0);
            assert!(0 < numbers[0] && numbers[0] < numbers[2] && numbers[2] < numbers[1] && numbers[1] < 8, "{numbers:?}");
        }
    }
}
