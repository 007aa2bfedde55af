//! Which uses of a page write it. A page of a lasting nature is written by each of its uses or by
//! none. For other pages each use is drawn.

use super::layout::{AppPages, Layout};
use super::plan::{Plan, Salt};
use std::ops::Range;
use swaplab_vocab::{Op, PageId};

/// The natures of all pages, drawn once, so that a use of a page of a lasting nature needs no draw.
pub struct Natures {
    /// By page, the operation of each of its uses if its nature is lasting.
    lasting: Vec<Op>,
    /// One bit per page: whether each of its uses is drawn.
    drawn: Vec<u64>,
}

impl Natures {
    /// Draw the natures of all anonymous pages. A `share` of them is lasting.
    pub fn new(plan: &Plan, layout: &Layout, share: f64) -> Natures {
        let pages = layout.owners.len();
        let mut natures = Natures { lasting: vec![Op::Read; pages], drawn: vec![0; pages.div_ceil(64)] };
        let shared = layout.shared.iter().map(|shared| &shared.pages);
        for of in layout.apps.iter().chain([&layout.system]).chain(shared) {
            for page in of.anon.clone() {
                if share > 0.0 && plan.chance(0, page, Salt::IsLasting) < share {
                    natures.lasting[page as usize] = drawn_op(plan.chance(0, page, Salt::Nature), of);
                } else {
                    natures.drawn[page as usize / 64] |= 1 << (page % 64);
                }
            }
        }
        natures
    }

    /// The operation of a use of `page`, which belongs to `of`, in launch `number`. Uses with
    /// different `salt` are independent.
    pub fn op(&self, plan: &Plan, number: u32, page: PageId, salt: Salt, of: &AppPages) -> Op {
        match self.drawn[page as usize / 64] >> (page % 64) & 1 {
            0 => self.lasting[page as usize],
            _ => drawn_op(plan.chance(number, page, salt), of),
        }
    }

    /// Append the operation of each of `pages` to `ops`; see [`Natures::op`].
    pub fn ops(&self, plan: &Plan, number: u32, pages: Range<PageId>, salt: Salt, of: &AppPages, ops: &mut Vec<Op>) {
        ops.extend_from_slice(&self.lasting[pages.start as usize..pages.end as usize]);
        for word in pages.start / 64..pages.end.div_ceil(64) {
            let mut drawn = self.drawn[word as usize];
            while drawn != 0 {
                let page = 64 * word + drawn.trailing_zeros();
                drawn &= drawn - 1;
                // The first and the last word have bits of other pages, too.
                if pages.contains(&page) {
                    ops[(page - pages.start) as usize] = drawn_op(plan.chance(number, page, salt), of);
                }
            }
        }
    }
}

/// The operation of a use for which `chance` was drawn.
fn drawn_op(chance: f64, of: &AppPages) -> Op {
    if chance < of.write_share {
        Op::Write
    } else {
        Op::Read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaplab_experiment::apps::AppModels;

    /// A page of a lasting nature is written by each of its uses or by none. For other pages each
    /// use is drawn.
    #[test]
    fn a_pages_nature_is_drawn_once() {
        let mut draw = swaplab_trace::synth::Draw::new(1);
        let layout = Layout::new(&AppModels::default(), 4096, &[], &[1], &mut draw);
        let (plan, of) = (Plan::new(9, &[], &layout), &layout.system);
        assert!(of.anon.contains(&3999) && of.write_share == 0.3);
        let steady = |lasting: f64| {
            let natures = Natures::new(&plan, &layout, lasting);
            let op = |number: u32, page: PageId| natures.op(&plan, number, page, [Salt::Start, Salt::Foreground][number as usize % 2], of);
            let mut ops = Vec::new();
            natures.ops(&plan, 1, 70..3999, Salt::Foreground, of, &mut ops);
            assert!((70..3999).map(|page| op(1, page)).eq(ops));
            let uses: Vec<usize> = (0..4000).map(|page| (0..20).filter(|number| op(*number, page).is_write()).count()).collect();
            let share = |of: usize| uses.iter().filter(|count| **count == of).count() as f64 / 4000.0;
            (share(0), share(20), uses.iter().sum::<usize>() as f64 / 80_000.0)
        };
        let close = |drawn: f64, expected: f64| (drawn - expected).abs() < 0.025;
        // The probability that none of 20 uses writes is 0.7^20 = 0.0008.
        let (never, always, mean) = steady(0.0);
        assert!(close(never, 0.0008) && close(always, 0.0) && close(mean, 0.3));
        let (never, always, mean) = steady(1.0);
        assert!(close(never, 0.7) && close(always, 0.3) && close(mean, 0.3));
        let (never, always, mean) = steady(0.73);
        assert!(close(never, 0.73 * 0.7) && close(always, 0.73 * 0.3) && close(mean, 0.3));
    }
}
