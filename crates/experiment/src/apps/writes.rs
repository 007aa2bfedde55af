//! Writes of the app in front to its files.

use crate::quantity::{Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{BadInput, Result};

/// Transactions of the app in front: each writes to its files and waits for an fsync, whose commit
/// goes through the file system's journal. Off by default, because no source says how often an app
/// does this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FileWrites {
    /// Time from the end of a transaction to the beginning of the next; 0 for no transactions.
    pub every: Span,
    /// Bytes that a transaction writes to files. A transaction of SQLite sends at least 11 writes
    /// to storage, over 50 % of writes update the journal of EXT4, and 70 % of writes are of 4 KiB
    /// (Lee and Won, Smart layers and dumb result, EMSOFT 2012): 5 writes of 4 KiB here.
    pub data: Size,
    /// Bytes that its fsync writes to the journal: the other 6 of these 11 writes.
    pub journal: Size,
}

impl Default for FileWrites {
    fn default() -> FileWrites {
        let size = |text| Size::parse(text).expect("a size of ours");
        FileWrites { every: Span::zero(), data: size("20KiB"), journal: size("24KiB") }
    }
}

impl FileWrites {
    pub fn is_off(&self) -> bool {
        self.every.seconds() == 0.0
    }

    pub fn check(&self, place: &str) -> Result<()> {
        if self.every.seconds() > 0.0 && self.every.seconds() < 1e-3 {
            return Err(BadInput::new(format!("{place}.every"), self.every.text(), "0 (never), or 1ms and more"));
        }
        for (key, size) in [("data", &self.data), ("journal", &self.journal)] {
            let place = format!("{place}.{key}");
            if size.absolute_bytes(&place)? > 16 << 20 {
                return Err(BadInput::new(place, size.text(), "16MiB at most"));
            }
        }
        Ok(())
    }
}
