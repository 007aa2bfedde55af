//! An app whose use of memory is set by options (SwapBench's "application category"). It has a
//! checksum of each page, so that a swap scheme that corrupts a page is detected. The command
//! `swaplab-app` runs it on the machine's own kernel; the guest of the world `vm` links it. So both
//! use the same model.

mod app_file;
mod content;
mod dice;
mod feature;
mod memory;
mod serve;
mod shape;

pub use app_file::write_data;
pub use feature::Feature;
pub use memory::{Checked, Memory};
pub use serve::serve;
pub use shape::Shape;
