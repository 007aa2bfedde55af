//! The access feature of an app, how it uses memory, as users write it: the options of
//! `swaplab-app`, and checks of their values.

use crate::content::PAGE;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{BadInput, Result};

/// How an app uses memory. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Feature {
    /// Memory that the app uses, including file-backed pages, such as 48MiB.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().footprint))]
    pub footprint: String,
    /// Share of the pages that are file-backed.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().file_share))]
    pub file_share: f64,
    /// Share of the pages that are hot: foreground use accesses them again and again.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().hot_share))]
    pub hot_share: f64,
    /// Share of the accesses to anonymous pages that write.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().write_ratio))]
    pub write_ratio: f64,
    /// Share of each page by which a compressor shrinks it.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().compressibility))]
    pub compressibility: f64,
    /// Share of the pages that a launch accesses.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().launch_set))]
    pub launch_set: f64,
    /// Share of the pages that a resume accesses.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().resume_set))]
    pub resume_set: f64,
    /// Place hot pages next to each other and access them in order, as in a profile-guided layout;
    /// otherwise they are scattered.
    #[cfg_attr(feature = "cli", arg(long))]
    pub hot_first: bool,
    /// Number of consecutive pages that are accessed together; readahead can profit from them.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().run))]
    pub run: u64,
    /// Number of pages of a second file that each foreground use rewrites, without waiting for
    /// write-back.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().saved_pages))]
    pub saved_pages: u64,
    /// Seed of the content and the order of pages.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Feature::default().seed))]
    pub seed: u64,
}

impl Default for Feature {
    fn default() -> Feature {
        Feature {
            footprint: "48MiB".into(),
            file_share: 0.25,
            hot_share: 0.25,
            write_ratio: 0.3,
            compressibility: 0.6,
            launch_set: 0.6,
            resume_set: 0.3,
            hot_first: false,
            run: 8,
            saved_pages: 0,
            seed: 1,
        }
    }
}

impl Feature {
    /// Check the values and convert the feature to pages. An error names the option.
    pub fn shape(&self) -> Result<Shape> {
        let shares = [
            ("--file-share", self.file_share),
            ("--hot-share", self.hot_share),
            ("--write-ratio", self.write_ratio),
            ("--compressibility", self.compressibility),
            ("--launch-set", self.launch_set),
            ("--resume-set", self.resume_set),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(BadInput::new(name, share.to_string(), "a share from 0 to 1"));
            }
        }
        if self.run == 0 {
            return Err(BadInput::new("--run", "0", "at least one page"));
        }
        let pages = swaplab_vocab::Memory::parse(&self.footprint)
            .and_then(|size| size.pages(PAGE as u64, 0))
            .map_err(|e| e.within("--footprint"))?;
        if pages < self.run {
            return Err(BadInput::new("--footprint", format!("{pages} pages"), format!("at least one run of {} pages", self.run)));
        }
        Ok(Shape {
            pages,
            run: self.run,
            seed: self.seed,
            file_share: self.file_share,
            hot_share: self.hot_share,
            write_ratio: self.write_ratio,
            compressibility: self.compressibility,
            launch_set: self.launch_set,
            resume_set: self.resume_set,
            hot_first: self.hot_first,
            saved_pages: self.saved_pages,
        })
    }
}
