//! Refaults by kind and tier, and the controller that decides from them. It protects a kind whose
//! refault rate exceeds the other kind's, and a tier whose rate exceeds the lowest tier's.

use crate::Backing;

/// The kinds of pages, as indices.
pub const ANON: usize = Backing::Swap as usize;
pub const FILE: usize = Backing::File as usize;

const TIERS: usize = 4;
/// Fewer refaults than this are not significant: the kernel's `MIN_LRU_BATCH`, the number of bits
/// of a machine word.
const FEW: f64 = 64.0;

#[derive(Clone, Copy, Default)]
struct Tally {
    /// Refaults since the current oldest generation became the oldest, and the moving average of
    /// earlier generations.
    refaulted: [f64; 2],
    /// Evicted or protected pages, likewise.
    total: [f64; 2],
}

impl Tally {
    fn refaults(&self) -> f64 {
        self.refaulted.iter().sum()
    }

    /// Whether the refault rate is at most that of the setpoint, each weighed by its gain. True
    /// also if there are too few refaults to tell.
    #[inline]
    fn within(&self, gain: f64, setpoint: &Tally, setpoint_gain: f64) -> bool {
        let totals = [setpoint, self].map(|t| t.total.iter().sum::<f64>());
        self.refaults() < FEW || self.refaults() * (totals[0] + FEW) * setpoint_gain <= (setpoint.refaults() + 1.0) * totals[1] * gain
    }
}

pub struct Tiers {
    count: usize,
    tally: [[Tally; TIERS]; 2],
}

impl Tiers {
    /// Tallies for `count` tiers, at most four.
    pub fn new(count: usize) -> Tiers {
        Tiers { count, tally: Default::default() }
    }

    /// The tier of a page with this many uses, its fault included.
    pub fn tier(&self, uses: u8) -> usize {
        (uses.max(1).next_power_of_two().ilog2() as usize).min(self.count - 1)
    }

    /// Count a page that was evicted, or was protected instead, in the total of its tier.
    pub fn handled(&mut self, kind: usize, tier: usize) {
        self.tally[kind][tier].total[0] += 1.0;
    }

    pub fn refaulted(&mut self, kind: usize, tier: usize) {
        self.tally[kind][tier].refaulted[0] += 1.0;
    }

    /// Fold the counts into the moving averages, because another generation is the oldest one now.
    pub fn next_generation(&mut self, kind: usize) {
        for tally in &mut self.tally[kind] {
            for figures in [&mut tally.refaulted, &mut tally.total] {
                *figures = [0.0, ((figures[0] + figures[1]) / 2.0).floor()];
            }
        }
    }

    /// The highest tier that is not protected. A tier is evictable if its refault rate is at most
    /// twice that of the lowest.
    #[inline]
    pub fn highest_evictable(&self, kind: usize) -> usize {
        let tallies = &self.tally[kind];
        (1..self.count).find(|tier| !tallies[*tier].within(2.0, &tallies[0], 1.0)).unwrap_or(self.count) - 1
    }

    /// The kind to scan: file pages, unless they refault more often than anonymous ones, both
    /// weighed by their gains.
    pub fn kind_to_scan(&self, gain: [u64; 2]) -> usize {
        let [anon, file] = [ANON, FILE].map(|kind| &self.tally[kind][0]);
        if file.within(gain[FILE] as f64, anon, gain[ANON] as f64) {
            FILE
        } else {
            ANON
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_grow_with_the_logarithm_of_uses() {
        assert_eq!([0, 1, 2, 3, 4, 5, 7].map(|uses| Tiers::new(4).tier(uses)), [0, 0, 1, 2, 2, 3, 3]);
        assert_eq!(Tiers::new(1).tier(7), 0);
    }

    #[test]
    fn a_tier_that_refaults_much_more_than_the_lowest_is_protected_for_a_while() {
        let mut tiers = Tiers::new(4);
        for _ in 0..1000 {
            tiers.handled(ANON, 0);
            tiers.handled(ANON, 1);
        }
        (0..100).for_each(|_| tiers.refaulted(ANON, 0));
        (0..150).for_each(|_| tiers.refaulted(ANON, 1));
        assert_eq!(tiers.highest_evictable(ANON), 3);
        (0..100).for_each(|_| tiers.refaulted(ANON, 1));
        assert_eq!(tiers.highest_evictable(ANON), 0);
        // Halved three times, 31 refaults are too few to be significant.
        (0..3).for_each(|_| tiers.next_generation(ANON));
        assert_eq!(tiers.highest_evictable(ANON), 3);
    }

    #[test]
    fn the_kind_that_refaults_less_for_its_gain_is_scanned() {
        let mut tiers = Tiers::new(4);
        assert_eq!(tiers.kind_to_scan([60, 140]), FILE);
        for kind in [ANON, FILE] {
            (0..1000).for_each(|_| tiers.handled(kind, 0));
        }
        (0..100).for_each(|_| tiers.refaulted(ANON, 0));
        (0..200).for_each(|_| tiers.refaulted(FILE, 0));
        // Twice the refaults, a bit more than twice the gain.
        assert_eq!(tiers.kind_to_scan([60, 140]), FILE);
        assert_eq!(tiers.kind_to_scan([100, 100]), ANON);
    }
}
