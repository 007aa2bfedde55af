//! The list that Linux scans next. Each of the four lists is weighed by its length, by swappiness
//! and by the recent result of scanning its kind of page (`get_scan_count`), in two versions of the
//! rule.

/// Weight of a write-back or a refault in rotations: `SWAP_CLUSTER_MAX`, the pages that the kernel
/// reclaims at once.
const IO_COST: f64 = 32.0;

/// The rule, by kernel version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Linux 6.1, `lru_note_cost`: the kind that cost more (write-backs, refaults, rotations) is
    /// scanned less.
    Cost,
    /// Linux 6.12: as `Cost`. The costs of a batch are added at its end, so that older ones fade at
    /// most once a batch (`shrink_inactive_list`).
    BatchCost,
    /// Linux 3.4, `get_scan_count`: the kind of which more pages were found in use is scanned less.
    /// Writes do not count.
    Rotated,
}

/// Recent costs and shares. Arrays of two are by kind: anonymous and file.
pub struct ScanBalance {
    rule: Rule,
    swappiness: f64,
    /// Scans owed to each list, inactive ones first, then active ones. They make the shares exact
    /// without random numbers.
    owed: [f64; 4],
    cost: [f64; 2],
    /// Costs of the current batch.
    batch: [f64; 2],
    scanned: [f64; 2],
    rotated: [f64; 2],
}

impl ScanBalance {
    pub fn new(rule: Rule, swappiness: f64) -> ScanBalance {
        ScanBalance { rule, swappiness, owed: [0.0; 4], cost: [0.0; 2], batch: [0.0; 2], scanned: [0.0; 2], rotated: [0.0; 2] }
    }

    /// Note that a page of a kind was scanned.
    pub fn scanned(&mut self, kind: usize) {
        self.scanned[kind] += 1.0;
    }

    /// Note that a scanned page is in use. `len`: pages of each kind.
    pub fn rotated(&mut self, kind: usize, len: [usize; 2]) {
        self.rotated[kind] += 1.0;
        self.cost_of_scan(kind, 1.0, len);
    }

    /// Note that reclaiming a page took a write or failed.
    pub fn io(&mut self, kind: usize, len: [usize; 2]) {
        self.cost_of_scan(kind, IO_COST, len);
    }

    /// Note that a page was read again that had been in the working set.
    pub fn refaulted(&mut self, kind: usize, len: [usize; 2]) {
        self.cost(kind, IO_COST, len);
    }

    /// Add the costs of the batch that has ended.
    pub fn end_batch(&mut self, len: [usize; 2]) {
        for kind in [0, 1] {
            match std::mem::take(&mut self.batch[kind]) {
                0.0 => {}
                cost => self.cost(kind, cost, len),
            }
        }
    }

    fn cost_of_scan(&mut self, kind: usize, cost: f64, len: [usize; 2]) {
        match self.rule {
            Rule::BatchCost => self.batch[kind] += cost,
            Rule::Cost | Rule::Rotated => self.cost(kind, cost, len),
        }
    }

    /// Add a cost. All costs are halved once they exceed a quarter of the lists' length, so that
    /// older ones fade.
    fn cost(&mut self, kind: usize, cost: f64, len: [usize; 2]) {
        self.cost[kind] += cost;
        if self.cost.iter().sum::<f64>() > (len[0] + len[1]) as f64 / 4.0 {
            self.cost = self.cost.map(|c| c / 2.0);
        }
    }

    /// The weight of each kind of page, by which the length of its lists is multiplied. `len`:
    /// pages of each kind.
    pub fn fractions(&mut self, len: [usize; 2]) -> [f64; 2] {
        let priority = [self.swappiness, 200.0 - self.swappiness];
        match self.rule {
            Rule::Cost | Rule::BatchCost => {
                let total: f64 = self.cost.iter().sum();
                [0, 1].map(|kind| priority[kind] * (total + 1.0) / (total + self.cost[kind] + 1.0))
            }
            Rule::Rotated => [0, 1].map(|kind| {
                if self.scanned[kind] > len[kind] as f64 / 4.0 {
                    self.scanned[kind] /= 2.0;
                    self.rotated[kind] /= 2.0;
                }
                priority[kind] * (self.scanned[kind] + 1.0) / (self.rotated[kind] + 1.0)
            }),
        }
    }

    /// The list to scan next, in exact shares over time: its kind, and whether it is the active
    /// one. `len`: pages of each kind; `inactive`, `active`: pages that may be scanned, of which
    /// there is one at least.
    pub fn next(&mut self, len: [usize; 2], inactive: [usize; 2], active: [usize; 2]) -> (usize, bool) {
        let fraction = self.fractions(len);
        let pages = [inactive[0], inactive[1], active[0], active[1]].map(|pages| pages as f64);
        let mut weight = [0, 1, 2, 3].map(|list| pages[list] * fraction[list % 2]);
        if weight.iter().sum::<f64>() == 0.0 {
            weight = pages;
        }
        let all: f64 = weight.iter().sum();
        let mut chosen = 0;
        for list in 0..4 {
            self.owed[list] = if weight[list] > 0.0 { self.owed[list] + weight[list] / all } else { 0.0 };
            if weight[list] > 0.0 && (weight[chosen] == 0.0 || self.owed[list] > self.owed[chosen]) {
                chosen = list;
            }
        }
        self.owed[chosen] -= 1.0;
        (chosen % 2, chosen >= 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of_anonymous(balance: &mut ScanBalance) -> f64 {
        (0..1000).filter(|_| balance.next([1000, 1000], [500, 500], [0, 0]).0 == 0).count() as f64 / 1000.0
    }

    #[test]
    fn shares_follow_swappiness_and_what_was_found() {
        // Without costs the share is 60 of 200.
        for rule in [Rule::Cost, Rule::Rotated] {
            assert_eq!(share_of_anonymous(&mut ScanBalance::new(rule, 60.0)), 0.3, "{rule:?}");
        }
        let mut cost = ScanBalance::new(Rule::Cost, 100.0);
        cost.io(0, [1000; 2]);
        // Weights of (32 + 1) / (32 + 32 + 1) and 1.
        assert_eq!(share_of_anonymous(&mut cost), 0.337);
        let mut rotated = ScanBalance::new(Rule::Rotated, 100.0);
        rotated.io(0, [1000; 2]);
        assert_eq!(share_of_anonymous(&mut rotated), 0.5);
        (0..9).for_each(|_| rotated.scanned(0));
        (0..4).for_each(|_| rotated.rotated(0, [1000; 2]));
        // Weights of 10 / 5 and 1.
        assert_eq!(share_of_anonymous(&mut rotated), 0.667);
    }

    #[test]
    fn costs_of_a_batch_are_added_at_its_end() {
        // Forty costs of 1 with lists of 64 pages, so more than 16 are halved. One by one they are
        // halved after the 17th (8.5), the 25th (8.25), and so on; all at once they are 40, halved
        // once.
        let [mut single, mut batch] = [Rule::Cost, Rule::BatchCost].map(|rule| ScanBalance::new(rule, 100.0));
        (0..40).for_each(|_| [&mut single, &mut batch].into_iter().for_each(|of| of.rotated(0, [32, 32])));
        assert_eq!((single.cost[0] < 17.0, batch.cost), (true, [0.0; 2]));
        batch.end_batch([32, 32]);
        assert_eq!(batch.cost, [20.0, 0.0]);
        // A refault counts at once: 20 + 32 are halved.
        batch.refaulted(0, [32, 32]);
        assert_eq!(batch.cost, [26.0, 0.0]);
    }

    /// Of lists with equal shares the first one is scanned. An empty list loses what it was owed.
    #[test]
    fn an_empty_list_is_owed_nothing() {
        let mut balance = ScanBalance::new(Rule::Cost, 100.0);
        assert_eq!((balance.next([8, 8], [4, 4], [0, 0]), balance.owed), ((0, false), [-0.5, 0.5, 0.0, 0.0]));
        assert_eq!((balance.next([8, 4], [4, 0], [0, 0]), balance.owed), ((0, false), [-0.5, 0.0, 0.0, 0.0]));
    }

    #[test]
    fn each_list_is_scanned_by_its_length() {
        let mut balance = ScanBalance::new(Rule::Rotated, 60.0);
        // 60 x 600 and 140 x 200 inactive, 60 x 200 and 140 x 800 active: 36, 28, 12 and 112
        // of 188.
        let mut seen = [0; 4];
        for _ in 0..1880 {
            let (kind, active) = balance.next([1000, 1000], [600, 200], [200, 800]);
            seen[kind + 2 * usize::from(active)] += 1;
        }
        assert_eq!(seen, [360, 280, 120, 1120]);
        // A list without pages to scan is never chosen, and the only kind with pages left is chosen
        // at any swappiness.
        assert!((0..9).all(|_| !balance.next([1000, 1000], [600, 200], [0, 0]).1));
        let mut never = ScanBalance::new(Rule::Cost, 0.0);
        assert_eq!((never.next([9, 9], [5, 5], [4, 0]), never.next([9, 0], [5, 0], [0, 0])), ((1, false), (0, false)));
    }
}
