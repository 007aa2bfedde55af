//! Which content may enter a cache before slower storage. A condition is one file here and one line in [`ADMISSIONS`].

mod always;
mod compressible;
mod second_touch;
mod write_heavy;

use crate::Content;
use serde::Serialize;
use std::sync::Arc;
use swaplab_vocab::{Op, PageId, Params, Registry, Resolved, Result, Spec};

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

/// What the registry knows of a condition beside its key and parameters.
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
    /// As results name it: as written, or the canonical text of a table.
    pub text: String,
    resolved: Resolved<Info>,
}

impl AdmissionSpec {
    pub fn parse(text: &str) -> Result<AdmissionSpec> {
        Ok(AdmissionSpec { text: text.into(), resolved: ADMISSIONS.parse(text)? })
    }

    /// [`parse`](AdmissionSpec::parse) of what is read already.
    pub fn of(spec: &Spec) -> Result<AdmissionSpec> {
        Ok(AdmissionSpec { text: spec.to_string(), resolved: ADMISSIONS.resolve(spec)? })
    }

    pub fn build(&self, setup: &Setup) -> Result<Box<dyn Admission>> {
        (self.resolved.entry.info.build)(setup, &self.resolved.params)
    }
}
