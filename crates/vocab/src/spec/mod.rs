//! Things with parameters, as a user writes them and as a registry knows them: policies, schemes, admission conditions, killers, app
//! policies, devices, trace formats, launch generators and worlds.
//!
//! - [`Spec`] is what a user wrote, `KEY:name=value,name=value` or `{ key = .., name = .. }`; nothing in it has been checked.
//! - [`Entry`] is what a registry says of one thing: its key, its [`Parameter`]s and what its kind needs to know beside them.
//! - [`Registry::resolve`] checks a `Spec` against its `Entry` and gives [`Params`], whose values have their types.

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
