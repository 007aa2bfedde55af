//! Registries of entries with parameters, and the syntax in which users select an entry: policies,
//! schemes, admission conditions, killers, app policies, devices, trace formats, launch generators
//! and worlds.
//!
//! - [`Spec`] is the parsed but unchecked input of a user, `KEY:name=value,name=value` or
//!   `{ key = .., name = .. }`.
//! - [`Entry`] describes an item of a registry: its key, its [`Parameter`]s and further properties
//!   of its kind.
//! - [`Registry::resolve`] checks a `Spec` against its `Entry` and returns typed [`Params`].

mod parameter;
mod params;
mod parse;
mod registry;
mod serial;
mod value;

pub use parameter::{Kind, Parameter, Place, Setting, UNLIMITED};
pub use params::Params;
pub use registry::{Entry, Registry, Resolved};
pub use value::{Spec, Value};
