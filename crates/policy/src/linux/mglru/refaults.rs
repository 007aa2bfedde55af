//! Evictions and refaults by kind of page, and the controller that decides from them: it spares the
//! kind whose refault rate is higher (`get_type_to_scan`).

use crate::Backing;

/// The kinds of pages, as indices.
pub const ANON: usize = Backing::Swap as usize;
pub const FILE: usize = Backing::File as usize;

/// Fewer refaults than this are not significant: the kernel's `MIN_LRU_BATCH`, the number of bits
/// of a machine word.
const FEW: u64 = 64;

/// Of one kind: counts since the current oldest generation became the oldest, and the moving
/// averages of earlier generations.
#[derive(Clone, Copy, Default)]
struct Tally {
    refaulted: [u64; 2],
    evicted: [u64; 2],
}

impl Tally {
    fn refaulted(&self) -> u64 {
        self.refaulted.iter().sum()
    }

    fn evicted(&self) -> u64 {
        self.evicted.iter().sum()
    }
}

#[derive(Clone, Default)]
pub struct Refaults([Tally; 2]);

impl Refaults {
    pub fn evicted(&mut self, kind: usize) {
        self.0[kind].evicted[0] += 1;
    }

    /// Note that a page that counts as evicted stays in memory.
    pub fn kept(&mut self, kind: usize) {
        let count = &mut self.0[kind].evicted[0];
        *count = count.saturating_sub(1);
    }

    pub fn refaulted(&mut self, kind: usize) {
        self.0[kind].refaulted[0] += 1;
    }

    /// Fold the counts into the moving averages, because another generation is the oldest one now
    /// (`reset_ctrl_pos`).
    pub fn next_generation(&mut self, kind: usize) {
        let Tally { refaulted, evicted } = &mut self.0[kind];
        for figures in [refaulted, evicted] {
            *figures = [0, (figures[0] + figures[1]) / 2];
        }
    }

    /// The kind to scan: file pages, unless they refault more often than anonymous ones, each
    /// weighed by its gain (`positive_ctrl_err`).
    pub fn kind_to_scan(&self, gain: [u64; 2]) -> usize {
        let [anon, file] = [&self.0[ANON], &self.0[FILE]];
        let few = file.refaulted() < FEW;
        let anon_weighs = (anon.refaulted() + 1) * file.evicted() * gain[FILE];
        if few || file.refaulted() * (anon.evicted() + FEW) * gain[ANON] <= anon_weighs {
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
    fn the_kind_that_refaults_less_for_its_gain_is_scanned() {
        let mut refaults = Refaults::default();
        assert_eq!(refaults.kind_to_scan([60, 140]), FILE);
        for kind in [ANON, FILE] {
            (0..1000).for_each(|_| refaults.evicted(kind));
        }
        (0..100).for_each(|_| refaults.refaulted(ANON));
        (0..200).for_each(|_| refaults.refaulted(FILE));
        // Of files 200 * 1064 * 60 = 12.8 million; of anonymous pages 101 * 1000 * 140 = 14.1
        // million.
        assert_eq!(refaults.kind_to_scan([60, 140]), FILE);
        assert_eq!(refaults.kind_to_scan([100, 100]), ANON);
        // Twice halved, 50 refaults of files are too few.
        (0..2).for_each(|_| refaults.next_generation(FILE));
        assert_eq!(refaults.kind_to_scan([100, 100]), FILE);
    }

    #[test]
    fn a_page_that_was_kept_was_not_evicted() {
        let mut refaults = Refaults::default();
        (0..3).for_each(|_| refaults.evicted(FILE));
        refaults.kept(FILE);
        assert_eq!(refaults.0[FILE].evicted(), 2);
        (0..3).for_each(|_| refaults.kept(FILE));
        assert_eq!(refaults.0[FILE].evicted(), 0);
    }
}
