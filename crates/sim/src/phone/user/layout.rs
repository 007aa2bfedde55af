//! The owners of pages. Each app has one range of anonymous and one of file-backed pages, the most
//! used ones first.

use super::owner::{shared_number, shared_owner, SYSTEM};
use std::ops::Range;
use swaplab_experiment::apps::{AppModels, AppSize};
use swaplab_experiment::Mib;
use swaplab_trace::synth::Draw;
use swaplab_vocab::{AppId, Class, PageId};

/// One app's pages, and its processor times.
#[derive(Clone, Debug)]
pub struct AppPages {
    pub anon: Range<PageId>,
    /// End of the hot anonymous pages, which are used at each start. The pages from here to
    /// `warm_end` are warm.
    pub hot_end: PageId,
    pub warm_end: PageId,
    pub file: Range<PageId>,
    pub file_hot_end: PageId,
    /// Ends of the anonymous and of the file pages that a cold start uses until the app is ready.
    pub start_end: PageId,
    pub file_start_end: PageId,
    pub warm_probability: f64,
    pub write_share: f64,
    pub graphics: usize,
    /// Camera buffers in frames, held only in the foreground.
    pub camera: usize,
    pub cold_ns: u64,
    pub resume_ns: u64,
}

/// A range of pages that several apps own, such as the zygote's heap, the libraries that it has
/// loaded, or a shared buffer.
pub struct SharedPages {
    pub pages: AppPages,
    /// By app, whether it maps the range.
    pub members: Vec<bool>,
    /// Whether a system process owns the range, too, so that it outlives all apps.
    pub system: bool,
}

pub struct Layout {
    pub page_bytes: u64,
    pub apps: Vec<AppPages>,
    pub system: AppPages,
    pub shared: Vec<SharedPages>,
    pub owners: Vec<AppId>,
    pub classes: Vec<Class>,
}

fn pages(mib: f64, page_bytes: u64) -> usize {
    (mib * (1 << 20) as f64 / page_bytes as f64).round() as usize
}

impl Layout {
    /// Lay out the pages of all apps. An app whose name has no model gets a kind by the rank of its
    /// number of `launches`.
    pub fn new(model: &AppModels, page_bytes: u64, names: &[String], launches: &[u64], draw: &mut Draw) -> Layout {
        let mut layout =
            Layout { page_bytes, apps: Vec::new(), system: NO_PAGES, shared: Vec::new(), owners: Vec::new(), classes: Vec::new() };
        let system = AppSize {
            resume_share: Some(model.system_hot_share),
            warm_share: Some(model.system_warm_share),
            warm_probability: Some(model.system_warm_probability),
            ..model.system.clone()
        };
        layout.system = layout.place(SYSTEM, &system, 1.0, model);
        let mut by_rank: Vec<usize> = (0..launches.len()).collect();
        by_rank.sort_by_key(|app| std::cmp::Reverse(launches[*app]));
        let kinds: Vec<&AppSize> = model.kinds().collect();
        let mut kind = vec![kinds[0]; launches.len()];
        by_rank.iter().enumerate().for_each(|(rank, app)| kind[*app] = kinds[rank % kinds.len()]);
        for (app, size) in kind.into_iter().enumerate() {
            let size = names.get(app).and_then(|name| model.by_name(name)).unwrap_or(size);
            let times = 1.0 + model.spread * (2.0 * draw.unit() - 1.0);
            let placed = layout.place(app as AppId, size, times, model);
            layout.apps.push(placed);
        }
        for (number, shared) in model.shared.iter().enumerate() {
            // The whole range is used at each start of an app that maps it.
            let size = AppSize {
                anon: shared.anon,
                file: shared.file,
                resume_share: Some(1.0),
                warm_share: Some(0.0),
                file_hot_share: Some(1.0),
                write_share: Some(0.0),
                ..AppSize::default()
            };
            let mut members = vec![false; launches.len()];
            let count = (shared.apps * launches.len() as f64).round() as usize;
            by_rank.iter().take(count).for_each(|app| members[*app] = true);
            let pages = layout.place(shared_owner(number), &size, 1.0, model);
            layout.shared.push(SharedPages { pages, members, system: shared.system });
        }
        layout
    }

    fn place(&mut self, owner: AppId, size: &AppSize, times: f64, model: &AppModels) -> AppPages {
        let page_bytes = self.page_bytes;
        let mut run = |size: Mib, class: Class| {
            let start = self.owners.len();
            let end = start + pages(size.0 * times, page_bytes);
            self.owners.resize(end, owner);
            self.classes.resize(end, class);
            start as PageId..end as PageId
        };
        let (anon, file) = (run(size.anon, Class::Anonymous), run(size.file, Class::File));
        let hot = size.resume_share.unwrap_or(model.resume_share);
        let warm = size.warm_share.unwrap_or(model.warm_share);
        let upto = |range: &Range<PageId>, share: f64| range.start + (range.len() as f64 * share).round() as PageId;
        let file_hot = size.file_hot_share.unwrap_or(model.file_hot_share);
        let started = size.start_share.unwrap_or(0.0);
        AppPages {
            hot_end: upto(&anon, hot),
            warm_end: upto(&anon, hot + warm),
            file_hot_end: upto(&file, file_hot),
            start_end: upto(&anon, hot.max(started)),
            file_start_end: upto(&file, file_hot.max(started)),
            warm_probability: size.warm_probability.unwrap_or(model.warm_probability),
            write_share: size.write_share.unwrap_or(model.write_share),
            graphics: pages(size.graphics.0 * times, page_bytes),
            camera: pages(size.camera.0, page_bytes),
            cold_ns: (size.cold.0 * 1e6) as u64,
            resume_ns: (size.resume.0 * 1e6) as u64,
            anon,
            file,
        }
    }

    pub fn of(&self, owner: AppId) -> &AppPages {
        if owner == SYSTEM {
            &self.system
        } else {
            match shared_number(owner) {
                Some(number) => &self.shared[number].pages,
                None => &self.apps[usize::from(owner)],
            }
        }
    }
}

pub const NO_PAGES: AppPages = AppPages {
    anon: 0..0,
    hot_end: 0,
    warm_end: 0,
    file: 0..0,
    file_hot_end: 0,
    start_end: 0,
    file_start_end: 0,
    warm_probability: 0.0,
    write_share: 0.0,
    graphics: 0,
    camera: 0,
    cold_ns: 0,
    resume_ns: 0,
};
