//! What an app's memory is like: how much of what, and how it is used.

/// The access feature. Shares are of `pages`, from 0 to 1.
#[derive(Clone, Debug)]
pub struct Shape {
    pub pages: u64,
    /// Pages touched in a row.
    pub run: u64,
    pub seed: u64,
    pub file_share: f64,
    pub hot_share: f64,
    pub write_ratio: f64,
    pub compressibility: f64,
    pub launch_set: f64,
    pub resume_set: f64,
    /// Hot pages lie together, at the start of the file and of the rest, and are touched in their order, and those of the file are code, the
    /// others data; else they are scattered over both, and all of the file is code.
    pub hot_first: bool,
    /// Pages of the app's own file that each foreground use writes.
    pub saved_pages: u64,
}

impl Shape {
    /// Pages that belong to the app's file.
    pub fn file_pages(&self) -> u64 {
        (self.pages as f64 * self.file_share) as u64
    }

    /// Pages at the file's start that are mapped as code.
    pub fn code_pages(&self) -> u64 {
        match self.hot_first {
            true => u64::from(self.hot_file_runs()) * self.run,
            false => self.file_pages(),
        }
    }

    /// Runs of the file that are hot, where these lie together.
    pub fn hot_file_runs(&self) -> u32 {
        (self.file_pages().div_ceil(self.run) as f64 * self.hot_share) as u32
    }
}
