//! The plugin that QEMU loads to trace a program: `libswaplab_capture_plugin.so` exports the two
//! symbols of [`swaplab_capture`]'s plugin. It is a separate crate because cargo puts no hash into
//! the file names of a crate that is also a dynamic library: builds of it with other features would
//! overwrite each other, and compile it again each time.

pub use swaplab_capture::*;
