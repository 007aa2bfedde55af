//! The plugin that QEMU loads to trace a program: `libswaplab_capture_plugin.so` exports the two
//! symbols of [`swaplab_capture`]'s plugin. It is a separate crate because cargo would build the
//! dynamic and the static library of one crate under the same name, and each build of one would
//! recompile the other.

pub use swaplab_capture::*;
