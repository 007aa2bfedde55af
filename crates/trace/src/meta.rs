//! Metadata of a trace: counts, provenance, apps and files, and the page table.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swaplab_vocab::{AppId, Class};

/// The kind of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Kind {
    /// Memory references by page.
    Page = 0,
    /// Block-device requests, split into pages.
    Block = 1,
    /// App launches.
    Launch = 2,
}

impl Kind {
    pub fn from_code(code: u8) -> Option<Kind> {
        [Kind::Page, Kind::Block, Kind::Launch].get(code as usize).copied()
    }
}

/// Filters that dropped references before they were recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// Hits of an LRU filter of this many entries were dropped (the first write always kept): valid
    /// from 8 times as many frames up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lru_entries: Option<u64>,
    /// Processor caches in front, as given at capture (`L1:32KiB,LL:2MiB`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<String>,
    /// Measured at capture: relative error of LRU faults at `8 x lru_entries` frames against the
    /// full stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_error: Option<f64>,
}

impl Filter {
    /// The smallest number of frames for which a replay of the filtered trace is valid.
    pub fn valid_from_frames(&self) -> u64 {
        8 * self.lru_entries.unwrap_or(0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

/// Bytes moved to and from one partition of a block trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    pub read_bytes: u64,
    pub write_bytes: u64,
}

/// All of a trace except its events and its page table. Stored as JSON, so that readers can ignore
/// fields of later versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Records in the file, by kind of operation.
    pub reads: u64,
    pub writes: u64,
    pub ifetches: u64,
    /// References of the program before any filter; `None` if the source does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_references: Option<u64>,
    pub filter: Filter,
    pub launches: u64,
    /// The name of the source, its format, the command: information for citing or reproducing the
    /// trace.
    pub provenance: BTreeMap<String, String>,
    /// The recording stopped before the program did.
    pub truncated: bool,
    pub apps: Vec<App>,
    /// Names of mapped files; `files[0]` is unused, so that 0 can mean none.
    pub files: Vec<String>,
    pub partitions: BTreeMap<String, Traffic>,
    /// Whether the source gave the pages' classes. Otherwise they were inferred
    /// (docs/papers/spo-clock.md, point 8).
    pub classes_given: bool,
    /// SHA-256 over the uncompressed events and page table, for citing the trace. Empty in a
    /// temporary file.
    pub content_hash: String,
}

impl Meta {
    pub fn references(&self) -> u64 {
        self.reads + self.writes + self.ifetches
    }
}

/// A page of a mapped file: an index into [`Meta::files`], and the page's offset in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePage {
    pub file: u32,
    pub offset: u64,
}

/// The pages of a trace, by dense index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageTable {
    /// Page numbers of the source.
    pub numbers: Vec<u64>,
    pub apps: Vec<AppId>,
    pub classes: Vec<Class>,
    /// Whether any reference writes the page.
    pub written: Vec<bool>,
    /// The file page of each page; empty if none is known.
    pub file_pages: Vec<FilePage>,
}

impl PageTable {
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Number of pages that are anonymous at the end: by class, or as private file pages that were
    /// written.
    pub fn anonymous(&self) -> u64 {
        let becomes = |(class, written): (&Class, &bool)| *class == Class::Anonymous || (*class == Class::File && *written);
        self.classes.iter().zip(&self.written).filter(|pair| becomes(*pair)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of five pages, the anonymous one and the two written ones of a private file.
    #[test]
    fn written_pages_of_private_files_become_anonymous() {
        let classes = vec![Class::Anonymous, Class::File, Class::File, Class::File, Class::Shared];
        let written = vec![false, true, true, false, true];
        assert_eq!(PageTable { numbers: vec![0; 5], classes, written, ..PageTable::default() }.anonymous(), 3);
    }
}
