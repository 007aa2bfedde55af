//! An app's model from a capture with labels (`trace capture --label launch --label resume`): what its launch uses, what each
//! resume uses again, and how well the resumes before the last one predict the last.
//!
//! A page counts for the app's size if its content is there when the last resume begins: what was unmapped or discarded before is no
//! longer held, and what a program gives up as it ends is. A page that every resume used is hot, one that some used is warm. A capture
//! knows neither times nor graphics memory.

use super::models::{assumed, mib, named};
use crate::replay::{Resolved, Resolver};
use serde::Serialize;
use swaplab_experiment::apps::{AppModels, AppSize};
use swaplab_experiment::Mapping;
use swaplab_trace::source::Progress;
use swaplab_trace::{Kind, Mark, Trace};
use swaplab_vocab::{BadInput, Class, Result};

/// Distinct pages that a launch or a resume uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Used {
    pub anon: u64,
    pub file: u64,
    /// Of `anon`, those that it writes.
    pub written: u64,
}

/// A captured app, and which trace says so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Captured {
    pub name: String,
    pub content_hash: String,
    #[serde(flatten)]
    pub capture: Capture,
}

/// What a captured app needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Capture {
    pub anon_pages: u64,
    pub file_pages: u64,
    pub launch: Used,
    pub resumes: Vec<Used>,
    pub shares: Shares,
    /// What the resumes before the last one say of it; of the only one, of itself.
    pub error: FitError,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Of anonymous pages: used by every resume, and by some of them with this probability.
    pub resume_share: f64,
    pub warm_share: f64,
    pub warm_probability: f64,
    /// Of file pages: used by the launch and every resume.
    pub file_hot_share: f64,
    /// Of the anonymous pages that resumes use: written by them.
    pub write_share: f64,
}

/// Relative errors of the numbers of pages, and which pages they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FitError {
    /// Whether the last resume was kept out of the fit that is judged by it.
    pub held_out: bool,
    pub anon: f64,
    pub file: f64,
    pub written: f64,
    /// Of the anonymous pages predicted hot, those that it used; of those that it used, the ones that an earlier resume had used.
    pub hot_used: f64,
    pub known: f64,
}

/// Per page, over resumes.
#[derive(Clone, Copy, Default)]
struct Page {
    alive: bool,
    /// Alive when the last resume began.
    held: bool,
    in_launch: bool,
    /// Resumes that used it; the last one that did, and that wrote it, from 1 (launch: 0, none: `NEVER`).
    uses: u32,
    seen: u32,
    wrote: u32,
}

const NEVER: u32 = u32::MAX;

/// Read a capture's phases.
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
        return Err(BadInput::new(trace.place(), "no resume in it", "a capture with --label launch --label resume, and a resume marked"));
    }
    Ok(fitted(&pages, &anonymous, launch, resumes))
}

fn begin(is_launch: bool, resumes: &mut Vec<Used>, pages: &mut [Page]) -> Option<u32> {
    if is_launch {
        return Some(0);
    }
    pages.iter_mut().for_each(|page| page.held = page.alive);
    resumes.push(Used::default());
    Some(resumes.len() as u32)
}

fn fitted(pages: &[Page], anonymous: &[bool], launch: Used, resumes: Vec<Used>) -> Capture {
    let held = |wanted: bool| pages.iter().zip(anonymous).filter(move |(page, anon)| page.held && **anon == wanted).map(|(page, _)| page);
    let (anon_pages, file_pages) = (held(true).count() as u64, held(false).count() as u64);
    let all = resumes.len() as u32;
    let of = |count: f64, whole: u64| if whole == 0 { 0.0 } else { count / whole as f64 };
    let hot = held(true).filter(|p| p.uses == all).count();
    let warm: Vec<u32> = held(true).map(|p| p.uses).filter(|uses| (1..all).contains(uses)).collect();
    let (written, used) = resumes.iter().fold((0, 0), |(w, u), r| (w + r.written, u + r.anon));
    let shares = Shares {
        resume_share: of(hot as f64, anon_pages),
        warm_share: of(warm.len() as f64, anon_pages),
        warm_probability: of(f64::from(warm.iter().sum::<u32>()), warm.len() as u64 * u64::from(all)),
        file_hot_share: of(held(false).filter(|p| p.uses == all && p.in_launch).count() as f64, file_pages),
        write_share: of(written as f64, used),
    };
    let error = judge(pages, anonymous, &resumes);
    Capture { anon_pages, file_pages, launch, resumes, shares, error }
}

/// The last resume, as the ones before it predict it.
fn judge(pages: &[Page], anonymous: &[bool], resumes: &[Used]) -> FitError {
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
    let share = |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
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

/// Models of captured apps, each of its own size and with its own shares. Graphics and times are those of the kind nearest in size, assumed.
/// Apps of these names are launched by a table of launches; a generator's apps are of these kinds in turn, the smallest first.
pub fn app_models(captures: &mut [Captured]) -> AppModels {
    captures.sort_by_key(|c| c.capture.anon_pages + c.capture.file_pages);
    let size = |capture: &Capture| {
        let (anon, file, shares) = (mib(capture.anon_pages), mib(capture.file_pages), &capture.shares);
        AppSize {
            anon,
            file,
            resume_share: Some(shares.resume_share),
            // Never above 1 together, also after rounding.
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

    /// Eleven anonymous pages, of which one is unmapped and one comes last; four file pages. Worked by hand.
    #[test]
    fn sets_and_shares_by_hand() {
        let launch = "W9 L W0 W1 W2 W3 W4 W5 W6 W7 W8 W8 R100 R101 R102 R103 U8";
        let c = capture(&format!("{launch} S R0 W1 W1 R2 R100 R101 S R0 R1 W3 R100 S W0 R1 R2 R100 R103 W10")).unwrap();
        assert_eq!((c.anon_pages, c.file_pages), (9, 4)); // 0-7 and 9; 10 came with the last resume
        assert_eq!(c.launch, Used { anon: 9, file: 4, written: 9 });
        let used = |anon, file, written| Used { anon, file, written };
        assert_eq!(c.resumes, [used(3, 2, 1), used(3, 1, 1), used(4, 2, 2)]);
        // Hot: 0, 1. Warm: 2 (twice) and 3 (once), of three resumes.
        let shares =
            Shares { resume_share: 2.0 / 9.0, warm_share: 2.0 / 9.0, warm_probability: 0.5, file_hot_share: 0.25, write_share: 0.4 };
        assert_eq!(c.shares, shares);
        // Two resumes predict 3 anonymous pages for 4, 1.5 file pages for 2, one write for 2. Pages 0 and 1 were hot and used; 0, 1, 2 known.
        let error = FitError { held_out: true, anon: -0.25, file: -0.25, written: -0.5, hot_used: 1.0, known: 0.75 };
        assert_eq!(c.error, error);
    }

    #[test]
    fn one_resume_is_judged_by_itself_and_none_is_refused() {
        let c = capture("L W0 W1 S R0").unwrap();
        assert_eq!((c.shares.resume_share, c.shares.warm_share), (0.5, 0.0));
        assert_eq!((c.error.held_out, c.error.anon, c.error.known), (false, 0.0, 1.0));
        assert!(capture("L W0 W1").unwrap_err().to_string().contains("--label resume"));
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
        // One page of one, and of three; read, and written.
        assert_eq!((small.resume_share, small.write_share), (Some(1.0), Some(0.0)));
        assert_eq!((big.resume_share, big.write_share), (Some(1.0 / 3.0), Some(1.0)));
        assert_eq!((small.cold, models.kinds().count()), (AppModels::default().light.cold, 6));
    }
}
