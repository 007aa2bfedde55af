//! The access feature after its checks, with sizes in pages.

/// An app's use of memory. Shares are of `pages`, from 0 to 1.
#[derive(Clone, Debug)]
pub struct Shape {
    pub pages: u64,
    /// Number of consecutive pages that are accessed together.
    pub run: u64,
    pub seed: u64,
    pub file_share: f64,
    pub hot_share: f64,
    pub write_ratio: f64,
    pub compressibility: f64,
    pub launch_set: f64,
    pub resume_set: f64,
    /// Whether hot pages are next to each other, at the start of the file and of anonymous memory,
    /// and accessed in order. Then the hot pages of the file are code and its others data.
    /// Otherwise hot pages are scattered, and all of the file is code.
    pub hot_first: bool,
    /// Number of pages of the second file, which each foreground use rewrites.
    pub saved_pages: u64,
}

impl Shape {
    /// Number of file-backed pages.
    pub fn file_pages(&self) -> u64 {
        (self.pages as f64 * self.file_share) as u64
    }

    /// Number of pages at the file's start that are mapped as code.
    pub fn code_pages(&self) -> u64 {
        match self.hot_first {
            true => u64::from(self.hot_file_runs()) * self.run,
            false => self.file_pages(),
        }
    }

    /// Number of hot runs of the file, for `hot_first`.
    pub fn hot_file_runs(&self) -> u32 {
        (self.file_pages().div_ceil(self.run) as f64 * self.hot_share) as u32
    }
}
