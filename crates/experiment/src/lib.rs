//! The types of input and output: the [`Experiment`] (one file describes machine, designs, workload
//! and run) and the [`Document`] that every world returns. This crate runs nothing: `sim` runs the
//! worlds replay and phone, the Python layer `memory`, `kernel` and `vm`. The JSON schema, the
//! Python classes and the documents' tables are generated from these types.

pub mod apps;
mod assign;
mod check;
mod design;
pub mod document;
mod experiment;
mod file;
mod machine;
mod one_or_many;
mod points;
mod quantity;
mod resolve;
mod run;
mod settings;
mod vary;
mod workload;
pub mod worlds;

pub use design::{Design, Prepage, SYSTEM};
pub use document::Document;
pub use experiment::Experiment;
pub use machine::{Devices, KernelSettings, Machine, MACHINES};
pub use one_or_many::OneOrMany;
pub use quantity::{Mib, Milliseconds, Size, Span};
pub use run::{BlockDevices, FirstTouch, KernelRun, Mapping, MemoryRun, PoolMemory, ReplayRun, Run, Unmanaged, VmLimit, VmRun};
pub use settings::{Background, Display, Heap, IoOrder, KswapdCore, Limits, Proactive, Services};
pub use vary::{Point, Range, Scalar, Values, Vary};
pub use workload::{Apps, Draw, LaunchTable, Launches, Order, Reading, RoundRobin, Setting, Use, Workload};
