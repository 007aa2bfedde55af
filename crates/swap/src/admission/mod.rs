//! Which content may enter a cache before slower storage. A condition is one file here and one line in [`ADMISSIONS`].

mod always;
mod compressible;
mod second_touch;
mod write_heavy;

use crate::Content;
use std::sync::Arc;
use swaplab_policy::{Parameter, Params};
use swaplab_vocab::{unknown_key, Op, PageId, Result};

/// What a condition is built for.
pub struct Setup {
    /// Candidates are numbered below it.
    pub pages: usize,
    /// Pages that the cache holds.
    pub capacity: usize,
    pub content: Arc<dyn Content>,
}

pub trait Admission: Send {
    /// `page` missed the cache and asks to enter it, by `op`.
    fn admit(&mut self, page: PageId, op: Op) -> bool;

    /// `page` was looked for in vain and does not ask to enter.
    fn looked_for(&mut self, _page: PageId) {}

    /// The content of `page` is gone.
    fn forget(&mut self, _page: PageId) {}

    /// DRAM that it takes for its memory.
    fn metadata_bytes(&self) -> u64 {
        0
    }
}

pub struct Info {
    pub key: &'static str,
    pub what: &'static str,
    pub parameters: &'static [Parameter],
    build: fn(&Setup, &Params) -> Result<Box<dyn Admission>>,
}

pub const ADMISSIONS: &[&Info] = &[&always::INFO, &second_touch::INFO, &compressible::INFO, &write_heavy::INFO];

/// A condition as written by a user, `KEY` or `KEY:name=value,..`, checked but not yet built.
#[derive(Clone)]
pub struct AdmissionSpec {
    pub text: String,
    pub info: &'static Info,
    arguments: String,
}

impl AdmissionSpec {
    pub fn parse(text: &str) -> Result<AdmissionSpec> {
        let (key, arguments) = text.split_once(':').unwrap_or((text, ""));
        let known = ADMISSIONS.iter().map(|i| i.key);
        let info = ADMISSIONS.iter().find(|i| i.key == key).ok_or_else(|| unknown_key("admission", "admission", key, known))?;
        Params::parse(key, arguments, info.parameters)?;
        Ok(AdmissionSpec { text: text.into(), info, arguments: arguments.into() })
    }

    pub fn build(&self, setup: &Setup) -> Result<Box<dyn Admission>> {
        (self.info.build)(setup, &Params::parse(self.info.key, &self.arguments, self.info.parameters)?)
    }
}
