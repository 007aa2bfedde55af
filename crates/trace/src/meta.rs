//! What a trace says about itself: counts, where it comes from, its apps and files, and its page table.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swaplab_vocab::{AppId, Class};

/// What the references of a trace are about.
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

/// Which references were dropped before they were recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// Hits of an LRU filter of this many entries were dropped (the first write always kept): valid from 8 times as many frames up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lru_entries: Option<u64>,
    /// Processor caches in front, as given at capture (`L1:32KiB,LL:2MiB`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<String>,
    /// Measured at capture: relative error of LRU faults at `8 x lru_entries` frames against the full stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_error: Option<f64>,
}

impl Filter {
    /// The fewest frames for which a replay of the filtered trace is valid.
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

/// Everything about a trace but its events and page table. Stored as JSON, so that a reader of today takes a file of tomorrow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Records in the file, by kind of operation.
    pub reads: u64,
    pub writes: u64,
    pub ifetches: u64,
    /// References of the program before any filter, where the source says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_references: Option<u64>,
    pub filter: Filter,
    pub launches: u64,
    /// The name of what was imported or run, the format, the command: whatever helps to cite or redo it.
    pub provenance: BTreeMap<String, String>,
    /// The recording stopped before the program did.
    pub truncated: bool,
    pub apps: Vec<App>,
    /// Names of mapped files; `files[0]` is unused, so that 0 can mean none.
    pub files: Vec<String>,
    pub partitions: BTreeMap<String, Traffic>,
    /// Whether the pages' classes were given by the source (else docs/papers/spo-clock.md, point 8, inferred them).
    pub classes_given: bool,
    /// SHA-256 over events and page table, uncompressed: what to cite. Empty in a spool.
    pub content_hash: String,
}

impl Meta {
    pub fn references(&self) -> u64 {
        self.reads + self.writes + self.ifetches
    }
}

/// Where a page lies in a file: index into [`Meta::files`], and the page of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePage {
    pub file: u32,
    pub offset: u64,
}

/// The pages of a trace, by dense index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageTable {
    /// Page numbers as the source has them.
    pub numbers: Vec<u64>,
    pub apps: Vec<AppId>,
    pub classes: Vec<Class>,
    /// Whether any reference writes the page.
    pub written: Vec<bool>,
    /// Empty where no page's file is known.
    pub file_pages: Vec<FilePage>,
}

impl PageTable {
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Pages whose last content is anonymous: by class, or private file pages that are written.
    pub fn anonymous(&self) -> u64 {
        let becomes = |(class, written): (&Class, &bool)| *class == Class::Anonymous || (*class == Class::File && *written);
        self.classes.iter().zip(&self.written).filter(|pair| becomes(*pair)).count() as u64
    }
}
