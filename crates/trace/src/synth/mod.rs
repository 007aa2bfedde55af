//! Synthetic traces of launches. A generator is one file here and one line in [`GENERATORS`]; a
//! preset is a generator with values.

mod daily;
mod round_robin;
mod zipf;

pub use zipf::ranks;

use crate::builder::TraceBuilder;
use crate::meta::{Kind, Meta};
use crate::slt::Codec;
use crate::Mark;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use std::path::Path;
use swaplab_vocab::{unknown_key, AppId, Entry, Params, Registry, Resolved, Result, Spec};

/// Properties of a generator in the registry, in addition to its key and parameters.
#[derive(Debug, Serialize)]
pub struct Info {
    #[serde(skip)]
    generate: fn(&Params, &mut Draw) -> Vec<Step>,
    /// Whether launches are drawn independently of one another, by popularity.
    pub independent: bool,
}

/// A generator of launches.
pub type Generator = Entry<Info>;

pub static GENERATORS: Registry<Info> =
    Registry { kind: "launch generator", entries: &[&zipf::GENERATOR, &daily::GENERATOR, &round_robin::GENERATOR] };

/// Names for generators with values. The first three are fitted to Table 1 of A2S
/// (docs/papers/a2s.md).
pub const PRESETS: &[(&str, &str)] = &[
    ("small", "zipf:apps=13,alpha=2.3"),
    ("medium", "zipf:apps=26,alpha=1.57"),
    ("large", "zipf:apps=50,alpha=1.45"),
    ("phone-daily", "daily"),
];

/// A launch: rank of the app (0 is the most popular), its time, and its time in front.
pub struct Step {
    pub rank: usize,
    pub at_s: f64,
    pub foreground_s: f64,
}

/// The random generator: xoshiro256++, which gives the same numbers on every machine.
pub struct Draw(Xoshiro256PlusPlus);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Draw uniformly from [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draw from an exponential distribution with this mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// Draws ranks from 0 on, with probability proportional to `1 / (rank + 1)^alpha`. Has the sums of
/// the weights up to each rank.
struct Popularity(Vec<f64>);

impl Popularity {
    fn new(apps: usize, alpha: f64) -> Popularity {
        let mut sum = 0.0;
        Popularity(
            (1..=apps)
                .map(|place| {
                    sum += (place as f64).powf(-alpha);
                    sum
                })
                .collect(),
        )
    }

    fn draw(&self, draw: &mut Draw) -> usize {
        let all = self.0[self.0.len() - 1];
        let at = draw.unit() * all;
        self.0.partition_point(|upto| *upto <= at).min(self.0.len() - 1)
    }
}

/// A generator with its parameters, or a preset with some values replaced: `large`,
/// `large:apps=40`.
pub struct LaunchSpec {
    /// The generator with the given parameters, for the trace's provenance.
    text: String,
    resolved: Resolved<Info>,
}

impl LaunchSpec {
    pub fn parse(text: &str) -> Result<LaunchSpec> {
        let spec: Spec = text.parse()?;
        let is_preset = PRESETS.iter().any(|(name, _)| *name == spec.key);
        LaunchSpec::of(&spec).map(|parsed| if is_preset { parsed } else { LaunchSpec { text: text.into(), ..parsed } })
    }

    /// Check an already parsed spec, as [`parse`](LaunchSpec::parse) does.
    pub fn of(spec: &Spec) -> Result<LaunchSpec> {
        let Some((_, preset)) = PRESETS.iter().find(|(name, _)| *name == spec.key) else {
            let names = PRESETS.iter().map(|(name, _)| *name).chain(GENERATORS.keys());
            if !GENERATORS.keys().any(|key| key == spec.key) {
                return Err(unknown_key("launches", "preset or generator", &spec.key, names));
            }
            return Ok(LaunchSpec { text: spec.to_string(), resolved: GENERATORS.resolve(spec)? });
        };
        let mut merged: Spec = preset.parse()?;
        merged.values.extend(spec.values.clone());
        let text = if spec.values.is_empty() { preset.to_string() } else { merged.to_string() };
        Ok(LaunchSpec { text, resolved: GENERATORS.resolve(&merged)? })
    }

    /// Whether launches are drawn independently of one another, by popularity: A2S' own assumption.
    pub fn is_independent(&self) -> bool {
        self.resolved.entry.info.independent
    }

    pub fn steps(&self, seed: u64) -> Vec<Step> {
        (self.resolved.entry.info.generate)(&self.resolved.params, &mut Draw::new(seed))
    }

    /// Write the launches as a trace. Apps are named by rank.
    pub fn write(&self, seed: u64, output: &Path, codec: Codec) -> Result<Meta> {
        let mut builder = TraceBuilder::create(output, Kind::Launch, 4096, codec)?;
        builder.meta.provenance.insert("generator".into(), self.text.clone());
        builder.meta.provenance.insert("seed".into(), seed.to_string());
        for step in self.steps(seed) {
            let app: AppId = builder.app(&format!("app{}", step.rank + 1), None)?;
            builder.mark(Mark::Time { ns: nanoseconds(step.at_s) })?;
            builder.mark(Mark::Launch { app, foreground_ns: nanoseconds(step.foreground_s) })?;
        }
        builder.finish()
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_specs_are_refused() {
        let error = |text| LaunchSpec::parse(text).err().unwrap().to_string();
        assert!(error("larg").contains("did you mean"));
        assert!(error("zipf:alfa=2").contains("'alpha'"));
        assert_eq!(error("zipf:apps=0"), "zipf: apps=0; expected a whole number from 2 to 10000");
        assert!(error("zipf:apps=x").contains("a whole number from 2"));
        let ranks = |text: &str| LaunchSpec::parse(text).unwrap().steps(3).iter().map(|step| step.rank).collect::<Vec<_>>();
        assert_eq!(ranks("large:apps=26,alpha=1.57"), ranks("medium"));
    }

    #[test]
    fn every_preset_and_generator_is_ordered_in_time_and_the_same_for_a_seed() {
        for spec in PRESETS.iter().map(|p| p.0).chain(GENERATORS.keys()) {
            let spec = LaunchSpec::parse(spec).unwrap();
            let (first, second, other) = (spec.steps(1), spec.steps(1), spec.steps(2));
            let ranks = |steps: &[Step]| steps.iter().map(|s| s.rank).collect::<Vec<_>>();
            assert_eq!(ranks(&first), ranks(&second));
            // The one generator without chance.
            assert_eq!(ranks(&first) == ranks(&other), spec.text.starts_with("round-robin"));
            assert!(first.windows(2).all(|w| w[0].at_s + w[0].foreground_s <= w[1].at_s && w[0].rank != w[1].rank));
        }
    }
}
