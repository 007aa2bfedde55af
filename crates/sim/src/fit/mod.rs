//! Models fitted to recordings: an app's to a capture of its pages, a phone's to samples of its
//! memory.

mod capture;
mod kernel;
mod models;
mod phone;
mod recording;

pub use capture::{app_models, read_capture, Capture, Captured};
pub use kernel::KernelMemory;
pub use phone::recorded_phone;
pub use recording::{read_recording, AppMemory, Recording, Starts};
