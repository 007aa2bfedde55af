//! Parameters written behind a policy's (or scheme's) key: `spo-clock:mode=descriptor,t0=1`.

use std::collections::{BTreeMap, BTreeSet};
use swaplab_vocab::{unknown_key, BadInput, Result};

/// One parameter as `swaplab list` shows it.
pub struct Parameter {
    pub name: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
}

/// The parameters given, checked against those a policy has; what is not given has its listed default.
pub struct Params {
    owner: String,
    values: BTreeMap<String, String>,
}

impl Params {
    /// `text` is what stands behind the colon: `name=value,name=value`.
    pub fn parse(owner: &str, text: &str, known: &'static [Parameter]) -> Result<Params> {
        let mut values: BTreeMap<String, String> = known.iter().map(|p| (p.name.into(), p.default.into())).collect();
        let mut given = BTreeSet::new();
        for part in text.split(',').filter(|p| !p.trim().is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| BadInput::new(owner, format!("'{part}'"), "name=value"))?;
            if !values.contains_key(name.trim()) {
                return Err(unknown_key(owner, "parameter", name.trim(), known.iter().map(|p| p.name)));
            }
            if !given.insert(name.trim()) {
                return Err(BadInput::new(owner, format!("{} twice", name.trim()), "each parameter once"));
            }
            values.insert(name.trim().into(), value.trim().into());
        }
        Ok(Params { owner: owner.into(), values })
    }

    /// The value as written. Panics on a name that the policy did not list: a slip in the policy, not in its input.
    pub fn text(&self, name: &str) -> &str {
        self.values.get(name).unwrap_or_else(|| panic!("{} has no parameter '{name}'", self.owner))
    }

    /// Every parameter with its value, by name.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A number in `[low, high]`.
    pub fn number(&self, name: &str, low: f64, high: f64) -> Result<f64> {
        let text = self.text(name);
        match text.parse::<f64>() {
            Ok(v) if (low..=high).contains(&v) => Ok(v),
            _ => Err(self.bad(name, &format!("a number from {low} to {high}"))),
        }
    }

    /// A whole number in `[low, high]`.
    pub fn integer(&self, name: &str, low: u64, high: u64) -> Result<u64> {
        let text = self.text(name);
        match text.parse::<u64>() {
            Ok(v) if (low..=high).contains(&v) => Ok(v),
            _ => Err(self.bad(name, &format!("a whole number from {low} to {high}"))),
        }
    }

    /// One of a few words, as an index into `choices`.
    pub fn choice(&self, name: &str, choices: &[&str]) -> Result<usize> {
        let text = self.text(name);
        choices.iter().position(|c| *c == text).ok_or_else(|| unknown_key(&self.owner, name, text, choices.iter().copied()))
    }

    /// The error for a parameter whose value is none of what was `expected`.
    pub fn bad(&self, name: &str, expected: &str) -> BadInput {
        BadInput::new(self.owner.as_str(), format!("{name}={}", self.text(name)), expected)
    }
}
