//! Admission conditions: which content may enter a cache in front of slower storage. A condition is
//! one file here and one line in [`ADMISSIONS`].

mod always;
mod compressible;
mod second_touch;
mod write_heavy;

use crate::Content;
use serde::Serialize;
use std::sync::Arc;
use swaplab_vocab::{Op, PageId, Params, Registry, Resolved, Result, Spec};

/// The environment that a condition is built for.
pub struct Setup {
    /// Number of candidate pages: every [`PageId`] is below this.
    pub pages: usize,
    /// Capacity of the cache in pages.
    pub capacity: usize,
    pub content: Arc<dyn Content>,
}

pub trait Admission: Send {
    /// Whether `page`, which missed the cache at a reference `op`, may enter it.
    fn admit(&mut self, page: PageId, op: Op) -> bool;

    /// Note that `page` missed the cache and will not enter it.
    fn note_miss(&mut self, _page: PageId) {}

    /// Drop the history of `page`, whose content no longer exists.
    fn forget(&mut self, _page: PageId) {}

    /// DRAM that the condition takes for its own tables, in bytes.
    fn metadata_bytes(&self) -> u64 {
        0
    }
}

/// Properties of a condition in the registry, in addition to its key and parameters.
#[derive(Debug, Serialize)]
pub struct Info {
    #[serde(skip)]
    build: fn(&Setup, &Params) -> Result<Box<dyn Admission>>,
}

pub type Entry = swaplab_vocab::Entry<Info>;

pub static ADMISSIONS: Registry<Info> =
    Registry { kind: "admission", entries: &[&always::ENTRY, &second_touch::ENTRY, &compressible::ENTRY, &write_heavy::ENTRY] };

/// A condition with its parameters, checked but not yet built.
#[derive(Clone)]
pub struct AdmissionSpec {
    /// The name in results: the text as written, or the canonical text of a TOML table.
    pub text: String,
    resolved: Resolved<Info>,
}

impl AdmissionSpec {
    pub fn parse(text: &str) -> Result<AdmissionSpec> {
        Ok(AdmissionSpec { text: text.into(), resolved: ADMISSIONS.parse(text)? })
    }

    /// Check an already parsed spec, as [`parse`](AdmissionSpec::parse) does.
    pub fn of(spec: &Spec) -> Result<AdmissionSpec> {
        Ok(AdmissionSpec { text: spec.to_string(), resolved: ADMISSIONS.resolve(spec)? })
    }

    pub fn build(&self, setup: &Setup) -> Result<Box<dyn Admission>> {
        (self.resolved.entry.info.build)(setup, &self.resolved.params)
    }
}
