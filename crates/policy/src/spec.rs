//! A policy as a user names it: a key of the registry, or a policy in a file.

use crate::{AnyPolicy, Entry, Info, Policy, Setup, POLICIES};
use std::sync::Arc;
use swaplab_vocab::{Params, Resolved, Result, Spec};

/// A policy with its parameters, checked but not yet built.
#[derive(Clone)]
pub struct PolicySpec {
    /// The name in results: the text as written, or the canonical text of a TOML table.
    pub text: String,
    pub entry: &'static Entry,
    pub params: Params,
    /// The builder of a policy from a file; `None` for a policy of the registry.
    factory: Option<Arc<dyn Factory>>,
}

/// A builder of policies from a shared library or a Python file.
pub trait Factory: Send + Sync {
    /// Build the policy. The caller has checked `params` against
    /// [`Entry::parameters`](swaplab_vocab::Entry).
    fn build(&self, setup: &Setup, params: &Params) -> Result<Box<dyn Policy>>;
}

impl PolicySpec {
    /// Parse and check a policy of the registry.
    pub fn parse(text: &str) -> Result<PolicySpec> {
        Ok(PolicySpec::new(text.into(), POLICIES.parse(text)?, None))
    }

    /// Check an already parsed spec, as [`parse`](PolicySpec::parse) does.
    pub fn of(spec: &Spec) -> Result<PolicySpec> {
        Ok(PolicySpec::new(spec.to_string(), POLICIES.resolve(spec)?, None))
    }

    /// A policy from a file: `factory` builds it, and the parameters of `spec` are checked against
    /// `entry`.
    pub fn external(text: &str, spec: &Spec, entry: &'static Entry, factory: Arc<dyn Factory>) -> Result<PolicySpec> {
        Ok(PolicySpec::new(text.into(), entry.resolve(spec)?, Some(factory)))
    }

    fn new(text: String, Resolved { entry, params }: Resolved<Info>, factory: Option<Arc<dyn Factory>>) -> PolicySpec {
        PolicySpec { text, entry, params, factory }
    }

    pub fn build(&self, setup: &Setup) -> Result<AnyPolicy> {
        match &self.factory {
            Some(factory) => Ok(AnyPolicy::External(factory.build(setup, &self.params)?)),
            None => AnyPolicy::build(self.entry, setup, &self.params),
        }
    }
}

/// The file name of a Python class that was given as an object.
const PYTHON: &str = "python";

/// A policy in a file as a user names it, such as `./libmine.so:mine` or
/// `./mine.py:Mine:name=value,..`.
#[derive(Clone, Debug, PartialEq)]
pub struct FileKey {
    /// The text as written.
    pub text: String,
    pub file: String,
    /// The policy's name in the file; empty if the user gave none.
    pub name: String,
    /// The policy's parameters; the key is file and name.
    pub spec: Spec,
}

impl FileKey {
    /// Parse `text` if it names a policy in a file, that is, if its first part ends like the name
    /// of a shared library or a Python file.
    pub fn of(text: &str) -> Result<Option<FileKey>> {
        let spec: Spec = match is_file(text.split(':').next().unwrap_or(text)) {
            true => text.parse()?,
            false => return Ok(None),
        };
        Ok(FileKey::in_spec(&spec).map(|key| FileKey { text: text.into(), ..key }))
    }

    /// The same for an already parsed spec.
    pub fn in_spec(spec: &Spec) -> Option<FileKey> {
        let (file, name) = spec.key.split_once(':').unwrap_or((&spec.key, ""));
        is_file(file).then(|| FileKey { text: spec.to_string(), file: file.into(), name: name.into(), spec: spec.clone() })
    }

    pub fn is_python(&self) -> bool {
        self.file == PYTHON || self.file.ends_with(".py")
    }
}

fn is_file(text: &str) -> bool {
    text == PYTHON || [".so", ".dylib", ".py"].iter().any(|end| text.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_distinguished_from_a_key() {
        let parts = |text: &str| FileKey::of(text).unwrap().map(|k| (k.file, k.name, k.spec.values.len()));
        let expected = |file: &str, name: &str, values| Some((file.to_string(), name.to_string(), values));
        assert_eq!(parts("./libmine.so:mine"), expected("./libmine.so", "mine", 0));
        assert_eq!(parts("a/mine.py:Mine:bits=2,x=3"), expected("a/mine.py", "Mine", 2));
        assert_eq!(parts("mine.py"), expected("mine.py", "", 0));
        assert_eq!(parts("clock:bits=2"), None);
        assert_eq!(parts("spy"), None);
        assert!(FileKey::of("mine.py:Mine:bits=2,x").is_err());
    }
}
