//! The cost of operations in time, energy and wear. Constants are data (`specs/*.toml`), each with
//! its source; a user's own file is given by its path. A device prices operations and takes no
//! decisions.
//!
//! A new device is one file in `specs/` and one line in [`list`].

mod device;
pub mod energy;
mod list;
mod options;
mod processor;
mod spec;

pub use device::{Attachment, Device, Service};
pub use list::{devices, load, load_processor, text, Entry, Info};
pub use processor::Processor;
pub use spec::{Collection, Constant, DeviceSpec, KEYS};
