//! Loads a policy as a user names it: a key of the registry, a policy in a shared library, or a
//! Python class.

use swaplab_policy::{FileKey, PolicySpec};
use swaplab_vocab::{Result, Spec};

pub fn of(spec: &Spec) -> Result<PolicySpec> {
    match FileKey::in_spec(spec) {
        Some(key) if key.is_python() => crate::python_policy::load(&key),
        Some(key) => swaplab_plugin_host::load(&key),
        None => PolicySpec::of(spec),
    }
}
