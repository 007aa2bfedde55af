//! Traces from nothing but a seed. A generator is one file here and one line in [`GENERATORS`]; a preset is a generator with values.

mod daily;
mod round_robin;
mod zipf;

use crate::builder::TraceBuilder;
use crate::meta::{Kind, Meta};
use crate::slt::Codec;
use crate::Mark;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::Path;
use swaplab_vocab::{unknown_key, AppId, BadInput, Result};

/// One number that a generator takes.
pub struct Parameter {
    pub name: &'static str,
    pub default: f64,
    pub least: f64,
    pub most: f64,
    pub meaning: &'static str,
}

/// A way of making launches.
pub struct Generator {
    pub key: &'static str,
    pub what: &'static str,
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    generate: fn(&Values, &mut Draw) -> Vec<Step>,
}

pub const GENERATORS: &[&Generator] = &[&zipf::GENERATOR, &daily::GENERATOR, &round_robin::GENERATOR];

/// Names for generators with values. The first three are fitted to Table 1 of A2S (READING 004).
pub const PRESETS: &[(&str, &str)] = &[
    ("small", "zipf:apps=13,alpha=2.3"),
    ("medium", "zipf:apps=26,alpha=1.57"),
    ("large", "zipf:apps=50,alpha=1.45"),
    ("phone-daily", "daily"),
];

/// A launch: rank of the app (0 is the most popular), its time, its stay in front.
pub struct Step {
    pub rank: usize,
    pub at_s: f64,
    pub foreground_s: f64,
}

/// A generator's parameters with their values.
pub struct Values(Vec<(&'static str, f64)>);

impl Values {
    fn parse(generator: &Generator, text: &str) -> Result<Values> {
        let mut values: Vec<_> = generator.parameters.iter().map(|p| (p.name, p.default)).collect();
        for part in text.split(',').filter(|p| !p.trim().is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| BadInput::new(generator.key, format!("'{part}'"), "name=value"))?;
            let known = generator.parameters.iter().position(|p| p.name == name.trim());
            let at =
                known.ok_or_else(|| unknown_key(generator.key, "parameter", name.trim(), generator.parameters.iter().map(|p| p.name)))?;
            let p = &generator.parameters[at];
            values[at].1 = value
                .trim()
                .parse()
                .ok()
                .filter(|v| (p.least..=p.most).contains(v))
                .ok_or_else(|| BadInput::new(generator.key, part.trim(), format!("{} from {} to {}", p.name, p.least, p.most)))?;
        }
        Ok(Values(values))
    }

    /// Panics on a name that the generator did not list: a slip in the generator, not in its input.
    fn get(&self, name: &str) -> f64 {
        self.0.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no parameter '{name}'")).1
    }
}

/// The source of chance: xoshiro256++, the same on every machine.
pub struct Draw(Xoshiro256PlusPlus);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Evenly from [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with this mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// Ranks with probability proportional to `1 / rank^alpha`.
struct Popularity(Vec<f64>);

impl Popularity {
    fn new(apps: usize, alpha: f64) -> Popularity {
        let mut sum = 0.0;
        Popularity(
            (1..=apps)
                .map(|rank| {
                    sum += (rank as f64).powf(-alpha);
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

/// A generator's key with its values, or a preset's name.
pub struct Spec {
    text: String,
    generator: &'static Generator,
    values: Values,
}

impl Spec {
    pub fn parse(text: &str) -> Result<Spec> {
        let spec = PRESETS.iter().find(|(name, _)| *name == text).map_or(text, |(_, spec)| spec);
        let (key, values) = spec.split_once(':').unwrap_or((spec, ""));
        let names = PRESETS.iter().map(|(name, _)| *name).chain(GENERATORS.iter().map(|g| g.key));
        let generator =
            GENERATORS.iter().find(|g| g.key == key).ok_or_else(|| unknown_key("trace gen", "preset or generator", key, names))?;
        Ok(Spec { text: spec.into(), generator, values: Values::parse(generator, values)? })
    }

    pub fn steps(&self, seed: u64) -> Vec<Step> {
        (self.generator.generate)(&self.values, &mut Draw::new(seed))
    }

    /// The launches as a trace; apps are named by rank.
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
    fn slips_are_answered() {
        let error = |text| Spec::parse(text).err().unwrap().to_string();
        assert!(error("larg").contains("did you mean"));
        assert!(error("zipf:alfa=2").contains("'alpha'"));
        assert_eq!(error("zipf:apps=0"), "zipf: apps=0; expected apps from 2 to 10000");
        assert!(error("zipf:apps=x").contains("apps from 2"));
    }

    #[test]
    fn every_preset_and_generator_is_ordered_in_time_and_the_same_for_a_seed() {
        for spec in PRESETS.iter().map(|p| p.0).chain(GENERATORS.iter().map(|g| g.key)) {
            let spec = Spec::parse(spec).unwrap();
            let (one, two, other) = (spec.steps(1), spec.steps(1), spec.steps(2));
            let ranks = |steps: &[Step]| steps.iter().map(|s| s.rank).collect::<Vec<_>>();
            assert_eq!(ranks(&one), ranks(&two));
            // The one generator without chance.
            assert_eq!(ranks(&one) == ranks(&other), spec.text.starts_with("round-robin"));
            assert!(one.windows(2).all(|w| w[0].at_s + w[0].foreground_s <= w[1].at_s && w[0].rank != w[1].rank));
        }
    }
}
