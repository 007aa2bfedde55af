//! The pages of `swaplab-app`: their content, the order of accesses, and the check of each accessed
//! page.

use crate::app_file::AppFile;
use crate::content::{Content, PAGE, WORDS};
use crate::dice::Dice;
use crate::shape::Shape;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// The number of accessed pages, and of those whose content was wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checked {
    pub pages: u64,
    pub bad: u64,
}

/// The memory of an app.
pub struct Memory {
    shape: Shape,
    content: Content,
    /// The anonymous pages, from index `start`, which is page-aligned.
    words: Vec<u64>,
    start: usize,
    file: AppFile,
    file_pages: u64,
    /// The file that foreground use rewrites; `None` if it has no pages.
    saved: Option<File>,
    /// The checksum of each page; 0 until its first access.
    sums: Vec<u64>,
    writes: u64,
    /// Runs in the order of their first accesses. The hot ones come first.
    order: Vec<u32>,
    /// Number of runs of `order` accessed so far.
    reached: usize,
    dice: Dice,
}

impl Memory {
    /// Create the memory of an app with the file `data`.
    pub fn open(shape: Shape, data: &Path) -> io::Result<Memory> {
        let mut dice = Dice(shape.seed);
        let file_pages = shape.file_pages();
        let order = if shape.hot_first { hot_first(&shape, file_pages) } else { scattered(&shape, &mut dice) };
        let content = Content::new(shape.seed, shape.compressibility);
        let file = AppFile::open(&shape, data)?;
        let saved = match shape.saved_pages {
            0 => None,
            _ => Some(File::create(data.with_extension("saved"))?),
        };
        let words = vec![0u64; (shape.pages - file_pages) as usize * WORDS + WORDS];
        let start = words.as_ptr().align_offset(PAGE);
        let sums = vec![0; shape.pages as usize];
        Ok(Memory { shape, content, words, start, file, file_pages, saved, sums, writes: 0, order, reached: 0, dice })
    }

    /// Access the launch set for the first time.
    pub fn launch(&mut self) -> Checked {
        let mut checked = Checked::default();
        while self.reached < self.runs(self.shape.launch_set).max(1) {
            self.grow(&mut checked);
        }
        checked
    }

    /// Resume: access the hot runs, then random other runs that were accessed before, up to the
    /// size of the resume set.
    pub fn resume(&mut self) -> Checked {
        let mut checked = Checked::default();
        let (wanted, hot) = (self.runs(self.shape.resume_set), self.hot());
        for at in 0..wanted {
            let cold = self.reached.saturating_sub(hot) as u64;
            let rank = if at < hot || cold == 0 { at % hot } else { hot + self.dice.below(cold) as usize };
            self.touch_run(rank, &mut checked);
        }
        checked
    }

    /// Use about `count` pages in the foreground: half of the runs are new until the footprint is
    /// reached, and four fifths of the others are hot.
    pub fn work(&mut self, count: u64) -> io::Result<Checked> {
        let mut checked = Checked::default();
        while checked.pages < count {
            if self.reached < self.order.len() && self.dice.chance(0.5) {
                self.grow(&mut checked);
            } else {
                let bound = if self.dice.chance(0.8) { self.hot() } else { self.reached };
                let rank = self.dice.below(bound as u64) as usize;
                self.touch_run(rank, &mut checked);
            }
        }
        self.save()?;
        Ok(checked)
    }

    /// Rewrite the app's own file, without waiting for write-back.
    fn save(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.saved else { return Ok(()) };
        file.seek(SeekFrom::Start(0))?;
        let (mut words, mut bytes) = ([0; WORDS], Vec::with_capacity(PAGE));
        for page in 0..self.shape.saved_pages {
            self.writes += 1;
            self.content.fill(&mut words, self.shape.seed ^ (page << 32) ^ self.writes);
            bytes.clear();
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            file.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Read and check every page accessed so far.
    pub fn verify(&mut self) -> Checked {
        let mut checked = Checked::default();
        for page in 0..self.shape.pages {
            if self.sums[page as usize] != 0 {
                checked.pages += 1;
                checked.bad += u64::from(self.sum(page) != self.sums[page as usize]);
            }
        }
        checked
    }

    fn runs(&self, share: f64) -> usize {
        (self.order.len() as f64 * share) as usize
    }

    /// Number of hot runs, at most those accessed so far.
    fn hot(&self) -> usize {
        self.runs(self.shape.hot_share).clamp(1, self.reached.max(1))
    }

    /// Access the next new run.
    fn grow(&mut self, checked: &mut Checked) {
        self.reached += 1;
        self.touch_run(self.reached - 1, checked);
    }

    fn touch_run(&mut self, rank: usize, checked: &mut Checked) {
        let first = u64::from(self.order[rank]) * self.shape.run;
        for page in first..(first + self.shape.run).min(self.shape.pages) {
            checked.pages += 1;
            checked.bad += u64::from(!self.touch(page));
        }
    }

    /// Access one page. Returns whether its content was right.
    fn touch(&mut self, page: u64) -> bool {
        let (at, anonymous) = (page as usize, page >= self.file_pages);
        let fresh = self.sums[at] == 0;
        let good = (fresh && anonymous) || {
            let sum = self.sum(page);
            let good = fresh || sum == self.sums[at];
            self.sums[at] = sum;
            good
        };
        if anonymous && (fresh || self.dice.chance(self.shape.write_ratio)) {
            self.writes += 1;
            let (from, stamp) = (self.place(page), self.shape.seed ^ (page << 32) ^ self.writes);
            self.content.fill(&mut self.words[from..from + WORDS], stamp);
            self.sums[at] = checksum(self.anonymous(page).iter().copied());
        }
        good
    }

    fn sum(&mut self, page: u64) -> u64 {
        if page >= self.file_pages {
            return checksum(self.anonymous(page).iter().copied());
        }
        checksum(self.file.words(page))
    }

    fn anonymous(&mut self, page: u64) -> &mut [u64] {
        let from = self.place(page);
        &mut self.words[from..from + WORDS]
    }

    fn place(&self, page: u64) -> usize {
        self.start + (page - self.file_pages) as usize * WORDS
    }
}

fn scattered(shape: &Shape, dice: &mut Dice) -> Vec<u32> {
    let mut order: Vec<u32> = (0..shape.pages.div_ceil(shape.run) as u32).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, dice.below(last as u64 + 1) as usize);
    }
    order
}

/// The order for `hot_first`: hot runs of the file, hot anonymous runs, other anonymous runs, other
/// runs of the file.
fn hot_first(shape: &Shape, file_pages: u64) -> Vec<u32> {
    let (files, all) = (file_pages.div_ceil(shape.run) as u32, shape.pages.div_ceil(shape.run) as u32);
    let hot_in_all = (f64::from(all) * shape.hot_share) as u32;
    let hot_files = shape.hot_file_runs();
    let hot_rest = files + hot_in_all - hot_files;
    [0..hot_files, files..hot_rest, hot_rest..all, hot_files..files].into_iter().flatten().collect()
}

/// A checksum that detects a changed bit and swapped words. It is never 0, which means "not
/// accessed yet".
fn checksum(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(1u64, |sum, word| (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(name: &str, change: impl Fn(&mut Shape)) -> Memory {
        let mut shape = Shape {
            pages: 100,
            run: 4,
            seed: 7,
            file_share: 0.2,
            hot_share: 0.2,
            write_ratio: 0.5,
            compressibility: 0.5,
            launch_set: 0.4,
            resume_set: 0.3,
            hot_first: false,
            saved_pages: 0,
        };
        change(&mut shape);
        let path = std::env::temp_dir().join(format!("swaplab-app-{name}-{}", std::process::id()));
        let memory = Memory::open(shape, &path).unwrap();
        std::fs::remove_file(path).unwrap();
        memory
    }

    #[test]
    fn foreground_use_writes_the_apps_own_file() {
        let path = std::env::temp_dir().join(format!("swaplab-app-saved-{}", std::process::id()));
        let mut memory = memory("saved-data", |_| {});
        memory.shape.saved_pages = 3;
        memory.saved = Some(File::create(&path).unwrap());
        memory.launch();
        let contents = [1, 2].map(|_| {
            memory.work(10).unwrap();
            std::fs::read(&path).unwrap()
        });
        std::fs::remove_file(path).unwrap();
        assert_eq!(contents.each_ref().map(Vec::len), [3 * PAGE; 2]);
        assert_ne!(contents[0], contents[1]);
    }

    #[test]
    fn launch_and_resume_sets_have_their_sizes() {
        let mut memory = memory("sets", |_| {});
        assert_eq!(memory.launch(), Checked { pages: 40, bad: 0 });
        assert_eq!(memory.resume(), Checked { pages: 28, bad: 0 }); // 25 runs, 0.3 of them: 7 runs
        assert_eq!(memory.verify(), Checked { pages: 40, bad: 0 });
        assert!(memory.work(2000).unwrap().bad == 0);
        assert_eq!(memory.verify(), Checked { pages: 100, bad: 0 });
    }

    #[test]
    fn an_app_may_have_no_file_backed_or_no_anonymous_pages() {
        for share in [0.0, 1.0] {
            let mut memory = memory(&format!("share-{share}"), |shape| (shape.file_share, shape.launch_set) = (share, 1.0));
            memory.launch();
            assert_eq!(memory.verify(), Checked { pages: 100, bad: 0 });
        }
    }

    #[test]
    fn a_flipped_bit_in_any_page_is_detected() {
        let mut memory = memory("bit", |shape| shape.launch_set = 1.0);
        memory.launch();
        for page in 20..100 {
            memory.anonymous(page)[(page * 5) as usize] ^= 1 << (page % 64);
            assert_eq!(memory.verify(), Checked { pages: 100, bad: page - 19 });
        }
    }

    #[test]
    fn anonymous_pages_are_page_aligned() {
        let mut memory = memory("boundary", |_| {});
        assert_eq!(memory.anonymous(20).as_ptr() as usize % PAGE, 0);
    }

    #[test]
    fn hot_first_places_hot_runs_next_to_each_other() {
        let mut memory = memory("together", |shape| (shape.hot_first, shape.launch_set, shape.resume_set) = (true, 1.0, 0.2));
        assert_eq!(memory.order[..8], [0, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(memory.order[21..], [1, 2, 3, 4]);
        memory.launch();
        assert_eq!(memory.resume(), Checked { pages: 20, bad: 0 });
        assert_eq!(memory.verify(), Checked { pages: 100, bad: 0 });
    }

    #[test]
    fn a_resume_accesses_the_hot_runs() {
        let mut memory = memory("hot", |shape| (shape.resume_set, shape.write_ratio) = (0.2, 1.0));
        memory.launch();
        let before = memory.sums.clone();
        memory.resume();
        let mut changed: Vec<u32> = (0..100).filter(|page| memory.sums[*page] != before[*page]).map(|page| page as u32 / 4).collect();
        changed.dedup();
        // runs 0 to 4 are the file's
        let mut hot: Vec<u32> = memory.order[..5].iter().copied().filter(|run| *run >= 5).collect();
        hot.sort_unstable();
        assert_eq!(changed, hot);
    }
}
