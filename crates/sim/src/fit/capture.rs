//! Fits an app's model to a capture with labels (`trace capture --label launch --label resume`):
//! the pages that its launch uses, those that each resume uses, and the error with which the
//! earlier resumes predict the last one.
//!
//! The app's size is the number of pages that have content when the last resume begins. Pages
//! unmapped or discarded before are not counted; pages that the program frees as it ends are. A
//! page that every resume uses is hot, one that some use is warm. A capture has neither times nor
//! graphics memory.

use super::models::{assumed, mib, named};
use crate::replay::{Resolved, Resolver};
use serde::Serialize;
use swaplab_experiment::apps::{AppModels, AppSize};
use swaplab_experiment::Mapping;
use swaplab_trace::source::Progress;
use swaplab_trace::{Kind, Mark, Trace};
use swaplab_vocab::{BadInput, Class, Result};

/// Numbers of distinct pages that a launch or a resume uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Used {
    pub anon: u64,
    pub file: u64,
    /// Of `anon`, pages that it writes.
    pub written: u64,
}

/// A captured app, with the hash of its trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Captured {
    pub name: String,
    pub content_hash: String,
    #[serde(flatten)]
    pub capture: Capture,
}

/// The page use of a captured app.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Capture {
    pub anon_pages: u64,
    pub file_pages: u64,
    pub launch: Used,
    pub resumes: Vec<Used>,
    pub shares: Shares,
    /// The error of predicting the last resume from the earlier ones, or a single resume from
    /// itself.
    pub error: FitError,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Shares of anonymous pages that every resume uses, and that some use; and the probability
    /// with which a resume uses one of the latter.
    pub resume_share: f64,
    pub warm_share: f64,
    pub warm_probability: f64,
    /// Share of file-backed pages that the launch and every resume use.
    pub file_hot_share: f64,
    /// Share of the anonymous pages used by resumes that they write.
    pub write_share: f64,
}

/// Relative errors of the predicted numbers of pages, and shares of pages that were predicted
/// right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FitError {
    /// Whether the last resume, with which the prediction is compared, was left out of the fit.
    pub held_out: bool,
    pub anon: f64,
    pub file: f64,
    pub written: f64,
    /// Share of the anonymous pages predicted hot that it used; share of those that it used that an
    /// earlier resume had used.
    pub hot_used: f64,
    pub known: f64,
}

/// The use of a page over all resumes.
#[derive(Clone, Copy, Default)]
struct Page {
    alive: bool,
    /// Whether it had content when the last resume began, and so counts.
    counts: bool,
    in_launch: bool,
    /// Number of resumes that used it; numbers of the last resume that used it and of the last that
    /// wrote it, from 1 (launch: 0, none: `NEVER`).
    uses: u32,
    seen: u32,
    wrote: u32,
}

const NEVER: u32 = u32::MAX;

/// Read the launch and the resumes of a capture.
pub fn read_capture(trace: &Trace, progress: Progress) -> Result<Capture> {
    if trace.kind != Kind::Page {
        return Err(BadInput::new(trace.place(), "a trace of requests or launches", "a trace of an app's pages (swaplab trace capture)"));
    }
    let table = trace.page_table()?;
    let anonymous: Vec<bool> =
        table.classes.iter().zip(&table.written).map(|(c, w)| *c == Class::Anonymous || *c == Class::File && *w).collect();
    let mut pages = vec![Page { seen: NEVER, wrote: NEVER, ..Page::default() }; table.len()];
    let (mut resolver, mut resolved) = (Resolver::new(table, Mapping::Follow), Resolved::default());
    let (mut launch, mut resumes, mut phase): (Used, Vec<Used>, Option<u32>) = (Used::default(), Vec::new(), None);
    trace.for_each_block(progress, |block| {
        let labels: Vec<(usize, bool)> = block
            .marks
            .iter()
            .filter_map(|(at, mark)| match mark {
                Mark::Launch { .. } => Some((*at as usize, true)),
                Mark::Switch { .. } => Some((*at as usize, false)),
                _ => None,
            })
            .collect();
        resolver.resolve(block, &mut resolved);
        let mut events = resolved.events.iter().peekable();
        let mut labels = labels.into_iter().peekable();
        for (at, access) in resolved.accesses.iter().enumerate() {
            while let Some((_, event)) = events.next_if(|(place, _)| *place <= at) {
                event.freed.iter().for_each(|page| pages[*page as usize].alive = false);
            }
            while let Some((_, is_launch)) = labels.next_if(|(place, _)| *place <= at) {
                phase = begin(is_launch, &mut resumes, &mut pages);
            }
            let index = access.page() as usize;
            let page = &mut pages[index];
            page.alive = true;
            let Some(now) = phase else { continue };
            let used = if now == 0 { &mut launch } else { &mut resumes[now as usize - 1] };
            if page.seen != now {
                page.seen = now;
                page.in_launch |= now == 0;
                page.uses += u32::from(now > 0);
                *if anonymous[index] { &mut used.anon } else { &mut used.file } += 1;
            }
            if access.is_write() && anonymous[index] && page.wrote != now {
                page.wrote = now;
                used.written += 1;
            }
        }
        events.for_each(|(_, event)| event.freed.iter().for_each(|page| pages[*page as usize].alive = false));
        labels.for_each(|(_, is_launch)| phase = begin(is_launch, &mut resumes, &mut pages));
        Ok(())
    })?;
    if resumes.iter().all(|r| r.anon + r.file == 0) {
        return Err(BadInput::new(trace.place(), "no resume in it", "a capture with the labels launch and resume"));
    }
    Ok(fitted(&pages, &anonymous, launch, resumes))
}

fn begin(is_launch: bool, resumes: &mut Vec<Used>, pages: &mut [Page]) -> Option<u32> {
    if is_launch {
        return Some(0);
    }
    pages.iter_mut().for_each(|page| page.counts = page.alive);
    resumes.push(Used::default());
    Some(resumes.len() as u32)
}

fn fitted(pages: &[Page], anonymous: &[bool], launch: Used, resumes: Vec<Used>) -> Capture {
    let counted = |wanted: bool| pages.iter().zip(anonymous).filter(move |(page, anon)| page.counts && **anon == wanted).map(|(p, _)| p);
    let (anon_pages, file_pages) = (counted(true).count() as u64, counted(false).count() as u64);
    let all = resumes.len() as u32;
    let of = |count: f64, total: u64| if total == 0 { 0.0 } else { count / total as f64 };
    let hot = counted(true).filter(|p| p.uses == all).count();
    let warm: Vec<u32> = counted(true).map(|p| p.uses).filter(|uses| (1..all).contains(uses)).collect();
    let (written, used) = resumes.iter().fold((0, 0), |(w, u), r| (w + r.written, u + r.anon));
    let shares = Shares {
        resume_share: of(hot as f64, anon_pages),
        warm_share: of(warm.len() as f64, anon_pages),
        warm_probability: of(f64::from(warm.iter().sum::<u32>()), warm.len() as u64 * u64::from(all)),
        file_hot_share: of(counted(false).filter(|p| p.uses == all && p.in_launch).count() as f64, file_pages),
        write_share: of(written as f64, used),
    };
    let error = prediction_error(pages, anonymous, &resumes);
    Capture { anon_pages, file_pages, launch, resumes, shares, error }
}

/// The error with which the earlier resumes predict the last one.
fn prediction_error(pages: &[Page], anonymous: &[bool], resumes: &[Used]) -> FitError {
    let (all, last) = (resumes.len() as u32, resumes[resumes.len() - 1]);
    let held_out = all > 1;
    let fitted = if held_out { all - 1 } else { 1 };
    let earlier = |page: &Page| if held_out { page.uses - u32::from(page.seen == all) } else { page.uses };
    let expected = |wanted: bool| -> f64 {
        let uses = pages.iter().zip(anonymous).filter(|(_, anon)| **anon == wanted).map(|(page, _)| f64::from(earlier(page)));
        uses.sum::<f64>() / f64::from(fitted)
    };
    let before = &resumes[..fitted as usize];
    let written = before.iter().map(|r| r.written).sum::<u64>() as f64 / f64::from(fitted);
    let relative = |predicted: f64, captured: u64| if captured == 0 { 0.0 } else { predicted / captured as f64 - 1.0 };
    let anon = || pages.iter().zip(anonymous).filter(|(_, anon)| **anon).map(|(page, _)| page);
    let share = |part: usize, total: usize| if total == 0 { 1.0 } else { part as f64 / total as f64 };
    let hot = || anon().filter(|p| earlier(p) == fitted);
    let used = || anon().filter(|p| p.seen == all);
    FitError {
        held_out,
        anon: relative(expected(true), last.anon),
        file: relative(expected(false), last.file),
        written: relative(written, last.written),
        hot_used: share(hot().filter(|p| p.seen == all).count(), hot().count()),
        known: share(used().filter(|p| earlier(p) > 0).count(), used().count()),
    }
}

/// Make models of captured apps, each with its own size and shares. Graphics memory and times are
/// assumed: those of the kind nearest in size. A table of launches names these apps; a generator's
/// apps take these kinds in turn, the smallest first.
pub fn app_models(captures: &mut [Captured]) -> AppModels {
    captures.sort_by_key(|c| c.capture.anon_pages + c.capture.file_pages);
    let size = |capture: &Capture| {
        let (anon, file, shares) = (mib(capture.anon_pages), mib(capture.file_pages), &capture.shares);
        AppSize {
            anon,
            file,
            resume_share: Some(shares.resume_share),
            // The sum of the two must not exceed 1, even after rounding.
            warm_share: Some(shares.warm_share.min(1.0 - shares.resume_share)),
            warm_probability: Some(shares.warm_probability),
            file_hot_share: Some(shares.file_hot_share),
            write_share: Some(shares.write_share),
            ..assumed(anon, file)
        }
    };
    let (models, names) = named(captures.iter().map(|captured| (captured.name.as_str(), size(&captured.capture))));
    AppModels { models, kinds: names.join(" "), spread: 0.0, ..AppModels::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaplab_trace::{Codec, Range, TraceBuilder};
    use swaplab_vocab::Op;

    fn capture(steps: &str) -> Result<Capture> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.slt");
        let mut builder = TraceBuilder::create(&path, Kind::Page, 4096, Codec::Stored).unwrap();
        for (first, class) in [(0, Class::Anonymous), (100, Class::File)] {
            builder.mark(Mark::Map { range: Range { app: 0, first, pages: 100 }, class, file: 0, offset: 0 }).unwrap();
        }
        for step in steps.split_whitespace() {
            let page = step[1..].parse().unwrap_or(0);
            match &step[..1] {
                "L" => builder.mark(Mark::Launch { app: 0, foreground_ns: 0 }).unwrap(),
                "S" => builder.mark(Mark::Switch { app: 0 }).unwrap(),
                "U" => builder.mark(Mark::Unmap(Range { app: 0, first: page, pages: 1 })).unwrap(),
                "W" => builder.access(0, page, Op::Write).unwrap(),
                _ => builder.access(0, page, Op::Read).unwrap(),
            }
        }
        builder.finish().unwrap();
        read_capture(&Trace::open(&path).unwrap(), &mut |_, _| true)
    }

    /// A page of a private mapping that the app has written is its own.
    #[test]
    fn a_page_of_a_file_that_is_written_counts_as_anonymous() {
        let c = capture("L W105 R106 S R105 R106").unwrap();
        assert_eq!((c.anon_pages, c.file_pages), (1, 1));
        assert_eq!((c.launch, c.resumes[0]), (Used { anon: 1, file: 1, written: 1 }, Used { anon: 1, file: 1, written: 0 }));
    }

    /// A case worked by hand: eleven anonymous pages, one of which is unmapped and one first used
    /// by the last resume; four file pages.
    #[test]
    fn numbers_and_shares_of_pages_by_hand() {
        let launch = "W9 L W0 W1 W2 W3 W4 W5 W6 W7 W8 W8 R100 R101 R102 R103 U8";
        let c = capture(&format!("{launch} S R0 W1 W1 R2 R100 R101 S R0 R1 W3 R100 S W0 R1 R2 R100 R103 W10")).unwrap();
        // 0-7 and 9; 10 is first used by the last resume
        assert_eq!((c.anon_pages, c.file_pages), (9, 4));
        assert_eq!(c.launch, Used { anon: 9, file: 4, written: 9 });
        let used = |anon, file, written| Used { anon, file, written };
        assert_eq!(c.resumes, [used(3, 2, 1), used(3, 1, 1), used(4, 2, 2)]);
        // Hot pages are 0 and 1. Of three resumes, warm page 2 is used by two and warm page 3 by
        // one.
        let shares =
            Shares { resume_share: 2.0 / 9.0, warm_share: 2.0 / 9.0, warm_probability: 0.5, file_hot_share: 0.25, write_share: 0.4 };
        assert_eq!(c.shares, shares);
        // Two resumes predict 3 anonymous pages instead of 4, 1.5 file-backed ones instead of 2, 1
        // written page instead of 2. Pages 0 and 1 were predicted hot and were used; of the pages
        // used, 0, 1 and 2 had been used before.
        let error = FitError { held_out: true, anon: -0.25, file: -0.25, written: -0.5, hot_used: 1.0, known: 0.75 };
        assert_eq!(c.error, error);
    }

    /// Of the file pages 100 to 102 that every resume uses, the launch did not use 102.
    #[test]
    fn a_hot_page_of_a_file_is_one_that_the_launch_used_too() {
        let c = capture("L W0 R100 R101 S W0 R100 R102 R101 S W0 R102 R100 R101").unwrap();
        assert_eq!((c.file_pages, c.shares.file_hot_share), (3, 2.0 / 3.0));
        let c = capture("L W0 R100 R101 S W0 R102 R100 S W0 R102 R100").unwrap();
        assert_eq!((c.file_pages, c.shares.file_hot_share), (3, 1.0 / 3.0));
    }

    #[test]
    fn one_resume_is_compared_with_itself_and_none_is_refused() {
        let c = capture("L W0 W1 S R0").unwrap();
        assert_eq!((c.shares.resume_share, c.shares.warm_share), (0.5, 0.0));
        assert_eq!((c.error.held_out, c.error.anon, c.error.known), (false, 0.0, 1.0));
        assert!(capture("L W0 W1").unwrap_err().to_string().contains("the labels launch and resume"));
    }

    #[test]
    fn each_app_keeps_its_own_size_and_shares() {
        let app = |name: &str, steps| Captured { name: name.into(), content_hash: String::new(), capture: capture(steps).unwrap() };
        let mut apps: Vec<Captured> = (0..5).map(|_| app("an app", "L W0 S R0")).collect();
        apps.push(app("big", "L W0 W1 W2 R100 S W0"));
        let models = app_models(&mut apps);
        models.check("test").unwrap();
        assert_eq!(models.kinds, "an-app an-app-2 an-app-3 an-app-4 an-app-5 big");
        let (small, big) = (models.by_name("an-app").unwrap(), models.by_name("big").unwrap());
        assert_eq!((small.anon.0, big.anon.0, big.file.0), (1.0 / 256.0, 3.0 / 256.0, 1.0 / 256.0));
        // The only page, and one of three; it is only read, and it is written.
        assert_eq!((small.resume_share, small.write_share), (Some(1.0), Some(0.0)));
        assert_eq!((big.resume_share, big.write_share), (Some(1.0 / 3.0), Some(1.0)));
        assert_eq!((small.cold, models.kinds().count()), (AppModels::default().light.cold, 6));
        assert_eq!(models.spread, 0.0, "each app has the size that was captured");
    }
}
