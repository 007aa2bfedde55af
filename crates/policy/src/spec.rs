//! A policy as a user writes it: a key of the registry, or one in a file.

use crate::{AnyPolicy, Entry, Info, Policy, Setup, POLICIES};
use std::sync::Arc;
use swaplab_vocab::{Params, Resolved, Result, Spec};

/// A policy with its parameters, checked but not yet built.
#[derive(Clone)]
pub struct PolicySpec {
    /// As results name it: as written, or the canonical text of a table.
    pub text: String,
    pub entry: &'static Entry,
    pub params: Params,
    /// Who builds a policy that is not compiled in.
    factory: Option<Arc<dyn Factory>>,
}

/// A policy that is not compiled in: what a shared library or a Python file has under one name.
pub trait Factory: Send + Sync {
    /// `params` are checked against [`Entry::parameters`](swaplab_vocab::Entry) before this is called.
    fn build(&self, setup: &Setup, params: &Params) -> Result<Box<dyn Policy>>;
}

impl PolicySpec {
    /// A policy of the registry.
    pub fn parse(text: &str) -> Result<PolicySpec> {
        Ok(PolicySpec::new(text.into(), POLICIES.parse(text)?, None))
    }

    /// [`parse`](PolicySpec::parse) of what is read already.
    pub fn of(spec: &Spec) -> Result<PolicySpec> {
        Ok(PolicySpec::new(spec.to_string(), POLICIES.resolve(spec)?, None))
    }

    /// A policy that `factory` builds, found in a file under `entry`'s key, with the parameters of `spec`.
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

/// Stands for a file where a Python class was given as an object.
const PYTHON: &str = "python";

/// A policy in a file, as a user writes it: `./libmine.so:mine`, `./mine.py:Mine:name=value,..`.
#[derive(Clone, Debug, PartialEq)]
pub struct FileKey {
    /// As written.
    pub text: String,
    pub file: String,
    /// Empty where the user gave none.
    pub name: String,
    /// Its parameters; the key is file and name.
    pub spec: Spec,
}

impl FileKey {
    /// What `text` names, if that is a policy in a file: its first part ends as a shared library's or a Python file's name does.
    pub fn of(text: &str) -> Result<Option<FileKey>> {
        let spec: Spec = match is_file(text.split(':').next().unwrap_or(text)) {
            true => text.parse()?,
            false => return Ok(None),
        };
        Ok(FileKey::in_spec(&spec).map(|key| FileKey { text: text.into(), ..key }))
    }

    /// [`of`](FileKey::of) of what is read already.
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
    fn a_file_is_told_from_a_key() {
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
