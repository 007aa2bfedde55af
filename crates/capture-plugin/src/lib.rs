//! What QEMU loads to trace a program: `libswaplab_capture_plugin.so` exports the two symbols of [`swaplab_capture`]'s plugin. It is a crate of
//! its own because cargo builds a library that is loaded and one that is linked into others under the same name: each build of the one would
//! have the other compiled again.

pub use swaplab_capture::*;
