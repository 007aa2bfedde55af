//! An app whose memory access feature is set by options (SwapBench's "application category") and whose pages carry checksums, so that a
//! swap scheme that loses a bit is found out. The command `swaplab-app` runs it on a machine's own kernel, the guest of a virtual kernel
//! links it: one description for both.

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
