//! A policy as a user writes it: a key of the registry, or one in a file.

use crate::{AnyPolicy, Info, Params, Policy, Setup, OPT_COST, POLICIES};
use std::sync::Arc;
use swaplab_vocab::{unknown_key, BadInput, Result};

/// `KEY` or `KEY:name=value,..`, checked but not yet built.
#[derive(Clone)]
pub struct PolicySpec {
    /// As written.
    pub text: String,
    pub info: &'static Info,
    arguments: String,
    /// Who builds a policy that is not compiled in.
    factory: Option<Arc<dyn Factory>>,
}

/// A policy that is not compiled in: what a shared library or a Python file has under one name.
pub trait Factory: Send + Sync {
    /// `params` are checked against [`Info::parameters`] before this is called.
    fn build(&self, setup: &Setup, params: &Params) -> Result<Box<dyn Policy>>;
}

impl PolicySpec {
    /// A policy of the registry, or the bound that stands among them.
    pub fn parse(text: &str) -> Result<PolicySpec> {
        let (key, arguments) = text.split_once(':').unwrap_or((text, ""));
        let known = || POLICIES.iter().copied().chain([&OPT_COST]);
        let info = known().find(|i| i.key == key).ok_or_else(|| unknown_key("policy", "policy", key, known().map(|i| i.key)))?;
        Params::parse(key, arguments, info.parameters)?;
        Ok(PolicySpec { text: text.into(), info, arguments: arguments.into(), factory: None })
    }

    /// A policy that `factory` builds, found under `key`.
    pub fn external(key: &FileKey, info: &'static Info, factory: Arc<dyn Factory>) -> Result<PolicySpec> {
        Params::parse(info.key, key.arguments, info.parameters)?;
        Ok(PolicySpec { text: key.text.into(), info, arguments: key.arguments.into(), factory: Some(factory) })
    }

    /// Whether this is no policy but a bound on all of them.
    pub fn is_bound(&self) -> bool {
        self.info.key == OPT_COST.key
    }

    pub fn build(&self, setup: &Setup) -> Result<AnyPolicy> {
        if self.is_bound() {
            return Err(BadInput::new(&self.text, "a bound on policies", "a policy: `replay`, `mrc` and `sweep` alone take the bound"));
        }
        let params = Params::parse(self.info.key, &self.arguments, self.info.parameters)?;
        match &self.factory {
            Some(factory) => Ok(AnyPolicy::External(factory.build(setup, &params)?)),
            None => AnyPolicy::build(self.info, setup, &params),
        }
    }
}

/// Stands for a file where a Python class was given as an object.
const PYTHON: &str = "python";

/// A policy in a file, as a user writes it: `./libmine.so:mine`, `./mine.py:Mine:name=value,..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKey<'a> {
    pub text: &'a str,
    pub file: &'a str,
    /// Empty where the user gave none.
    pub name: &'a str,
    pub arguments: &'a str,
}

impl FileKey<'_> {
    /// What `text` names, if that is a policy in a file: its first part ends as a shared library's or a Python file's name does.
    pub fn of(text: &str) -> Option<FileKey<'_>> {
        let (file, rest) = text.split_once(':').unwrap_or((text, ""));
        let (name, arguments) = rest.split_once(':').unwrap_or((rest, ""));
        let is_file = file == PYTHON || [".so", ".dylib", ".py"].iter().any(|end| file.ends_with(end));
        is_file.then_some(FileKey { text, file, name, arguments })
    }

    pub fn is_python(&self) -> bool {
        self.file == PYTHON || self.file.ends_with(".py")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_from_a_key() {
        let parts = |text| FileKey::of(text).map(|k| (k.file, k.name, k.arguments));
        assert_eq!(parts("./libmine.so:mine"), Some(("./libmine.so", "mine", "")));
        assert_eq!(parts("a/mine.py:Mine:bits=2,x=3"), Some(("a/mine.py", "Mine", "bits=2,x=3")));
        assert_eq!(parts("mine.py"), Some(("mine.py", "", "")));
        assert_eq!(parts("clock:bits=2"), None);
        assert_eq!(parts("spy"), None);
    }
}
