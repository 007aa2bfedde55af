//! Frames that the app in front draws, and those that stalls on memory make too late.
//!
//! Source: developer.android.com, "Slow rendering": a frame that takes longer than the period of
//! the display (16 ms at 60 Hz, 8 ms at 120 Hz) is janky; one of more than 700 ms is frozen.
//! Deviations: the app draws in every period while it is in front, as in a scroll or a video; each
//! frame has the same own work; the frame's thread makes all references of the app and of the
//! system, and so has all of their stalls. It has none of a collection, nor waits for an fsync:
//! these are threads of their own.

use crate::phone::spec::Display;

/// From this time on a frame is frozen.
const FROZEN_NS: u64 = 700_000_000;

/// Numbers of frames of the display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    pub drawn: u64,
    /// Frames that took longer than a period, and of these the ones that took more than 700 ms.
    pub janky: u64,
    pub frozen: u64,
}

/// The frames of a visit, and the progress of the app in front.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawing {
    display: Display,
    /// What is left of the app's time in front, and of the period of the current frame.
    left_ns: u64,
    frame_left_ns: u64,
    /// Stalls of the current frame.
    stalled_ns: u64,
}

impl Drawing {
    /// The frames of an app that is in front for `ns`, stalls left out. The first begins now.
    pub fn begin(display: Display, ns: u64) -> Drawing {
        let left_ns = if display.period_ns == 0 { 0 } else { ns };
        Drawing { display, left_ns, frame_left_ns: display.period_ns, stalled_ns: 0 }
    }

    /// Let `ns` of the app's time in front pass.
    pub fn pass(&mut self, ns: u64, counts: &mut FrameCounts) {
        let mut ns = ns.min(self.left_ns);
        self.left_ns -= ns;
        if ns == 0 || ns < self.frame_left_ns {
            self.frame_left_ns -= ns;
            return;
        }
        ns -= self.frame_left_ns;
        self.finish(1, counts);
        self.finish(ns / self.display.period_ns, counts);
        self.frame_left_ns -= ns % self.display.period_ns;
    }

    /// The app waits for `ns` while it draws the current frame.
    pub fn stall(&mut self, ns: u64) {
        self.stalled_ns += ns;
    }

    /// The app leaves the front once the rest of its time has passed. A frame that has begun is
    /// drawn.
    pub fn end(mut self, counts: &mut FrameCounts) {
        if self.left_ns > 0 {
            self.pass(self.left_ns, counts);
        }
        let begun = self.frame_left_ns < self.display.period_ns;
        self.finish(u64::from(begun), counts);
    }

    /// Count `frames` frames that end now; the first has the stalls.
    fn finish(&mut self, frames: u64, counts: &mut FrameCounts) {
        if frames == 0 {
            return;
        }
        let took_ns = self.display.work_ns + std::mem::take(&mut self.stalled_ns);
        let counted = |is: bool| if is { frames } else { 0 };
        counts.drawn += frames;
        counts.janky += counted(took_ns > self.display.period_ns);
        counts.frozen += counted(took_ns > FROZEN_NS);
        self.frame_left_ns = self.display.period_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn counts(drawn: u64, janky: u64, frozen: u64) -> FrameCounts {
        FrameCounts { drawn, janky, frozen }
    }

    /// At 100 Hz a frame has 10 ms, of which the app works for 6: it can wait for 4. The app is in
    /// front for 65 ms, in which seven frames begin.
    #[test]
    fn a_frame_is_janky_once_its_work_and_stalls_exceed_the_period() {
        let (mut of, display) = (FrameCounts::default(), Display { period_ns: 10 * MS, work_ns: 6 * MS });
        let mut drawing = Drawing::begin(display, 65 * MS);
        // The first frame waits for 3 and 1 ms: 6 + 4 = 10 is in time.
        drawing.pass(2 * MS, &mut of);
        drawing.stall(3 * MS);
        drawing.stall(MS);
        // The second waits for 5 ms: 11 is too late.
        drawing.pass(9 * MS, &mut of);
        assert_eq!(of, counts(1, 0, 0));
        drawing.stall(5 * MS);
        // It and the two that follow are drawn at 40 ms. The fifth waits for 695 ms and is frozen.
        drawing.pass(34 * MS, &mut of);
        assert_eq!(of, counts(4, 1, 0));
        drawing.stall(695 * MS);
        // The sixth and the seventh wait for nothing; the seventh begins at 60 ms.
        drawing.end(&mut of);
        assert_eq!(of, counts(7, 2, 1));
    }

    #[test]
    fn work_alone_can_be_too_long_and_a_visit_of_no_time_draws_nothing() {
        let mut of = FrameCounts::default();
        Drawing::begin(Display { period_ns: 8 * MS, work_ns: 9 * MS }, 80 * MS).end(&mut of);
        assert_eq!(of, counts(10, 10, 0));
        let display = Display { period_ns: 8 * MS, work_ns: 9 * MS };
        for (display, ns) in [(display, 0), (Display::default(), 80 * MS)] {
            let mut drawing = Drawing::begin(display, ns);
            drawing.stall(MS);
            drawing.pass(MS, &mut of);
            drawing.end(&mut of);
        }
        assert_eq!(of, counts(10, 10, 0));
    }

    /// However the time is cut into pieces, the frames are the same.
    #[test]
    fn frames_do_not_depend_on_steps() {
        let display = Display { period_ns: 7, work_ns: 3 };
        let in_steps = |step: u64| {
            let (mut of, mut drawing) = (FrameCounts::default(), Drawing::begin(display, 700));
            for at in 0..600 {
                if at % step == step - 1 {
                    drawing.pass(step, &mut of);
                }
                if at == 299 {
                    drawing.stall(5);
                }
            }
            drawing.end(&mut of);
            of
        };
        assert_eq!([1, 2, 3, 50, 300].map(in_steps), [counts(100, 1, 0); 5]);
    }
}
