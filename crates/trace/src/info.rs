//! The properties of a trace in one record, which `trace info` prints.

use crate::meta::{Filter, Kind, Traffic};
use crate::slt::Trace;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use swaplab_vocab::Result;

/// Content and provenance of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceInfo {
    /// The name of what was imported, else the file's.
    pub name: String,
    pub kind: Kind,
    /// Bytes of a page.
    pub page_size: u64,
    pub references: u64,
    pub reads: u64,
    pub writes: u64,
    pub ifetches: u64,
    /// References of the program before any filter; `None` if the source does not say.
    pub raw_references: Option<u64>,
    pub filter: Option<Filter>,
    /// The smallest number of frames for which a replay is valid; 0 for no limit.
    pub valid_from_frames: u64,
    /// Distinct pages that are referenced.
    pub footprint_pages: u64,
    /// Pages whose last content is anonymous, and the others.
    pub anon_pages: u64,
    pub file_pages: u64,
    /// Whether the source gave the pages' classes.
    pub classes_given: bool,
    pub launches: u64,
    pub apps: u64,
    pub app_names: Vec<String>,
    /// The recording stopped before the program did.
    pub truncated: bool,
    /// Bytes by partition of a block trace.
    pub partitions: BTreeMap<String, Traffic>,
    /// SHA-256 over events and page table; null for a trace that is imported for one run.
    pub content_hash: Option<String>,
    pub provenance: BTreeMap<String, String>,
}

impl TraceInfo {
    pub fn of(trace: &Trace) -> Result<TraceInfo> {
        let table = trace.page_table()?;
        let (meta, pages, anon_pages) = (&trace.meta, table.len() as u64, table.anonymous());
        let file_name = || Path::new(trace.place()).file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(TraceInfo {
            name: meta.provenance.get("imported_from").cloned().or_else(file_name).unwrap_or_default(),
            kind: trace.kind,
            page_size: trace.page_size,
            references: meta.references(),
            reads: meta.reads,
            writes: meta.writes,
            ifetches: meta.ifetches,
            raw_references: meta.raw_references,
            filter: Some(meta.filter.clone()).filter(|filter| *filter != Filter::default()),
            valid_from_frames: meta.filter.valid_from_frames(),
            footprint_pages: pages,
            anon_pages,
            file_pages: pages - anon_pages,
            classes_given: meta.classes_given,
            launches: meta.launches,
            apps: meta.apps.len().max(usize::from(trace.kind == Kind::Page)) as u64,
            app_names: meta.apps.iter().map(|app| app.name.clone()).collect(),
            truncated: meta.truncated,
            partitions: meta.partitions.clone(),
            content_hash: Some(meta.content_hash.clone()).filter(|hash| !hash.is_empty()),
            provenance: meta.provenance.clone(),
        })
    }
}
