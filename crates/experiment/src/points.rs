//! The points of `[vary]`. Each is a complete experiment.
//!
//! Random draws are hashes of seed, point and key instead of values of a stateful generator. A
//! point is thus independent of earlier ones, and a longer list of draws begins with the points of
//! a shorter one.

use crate::assign::Change;
use crate::experiment::Experiment;
use crate::vary::{Point, Range, Scalar, Values, Vary};
use sha2::{Digest, Sha256};
use swaplab_vocab::{BadInput, Result};

/// Maximum number of points. Each takes some kB of memory until the run ends.
const MOST_POINTS: u64 = 1_000_000;

impl Experiment {
    /// The values of all points, in order. A single point without values if nothing is varied.
    pub fn points(&self, place: &str) -> Result<Vec<Point>> {
        match &self.vary {
            None => Ok(vec![Point::new()]),
            Some(vary) => vary.points(&format!("{place}: vary"), self.run.seed),
        }
    }

    /// The experiment at a point: with the point's values and without `[vary]`.
    pub fn at(&self, place: &str, point: &Point) -> Result<Experiment> {
        let bare = Experiment { vary: None, ..self.clone() };
        if point.is_empty() {
            return Ok(bare);
        }
        let values = point.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ");
        let place = format!("{place}: vary ({values})");
        let table = toml::Table::try_from(&bare).map_err(|e| BadInput::new(&place, e.to_string(), "an experiment"))?;
        let changes: Vec<Change> = point.iter().map(|(key, value)| Change { key: key.clone(), value: toml_value(value) }).collect();
        if let Some(change) = changes.iter().find(|change| change.key == "vary" || change.key.starts_with("vary.")) {
            return Err(BadInput::new(&place, format!("'{}' is a key of [vary] itself", change.key), "a key outside of [vary]"));
        }
        Experiment::changed(&place, table, &changes)
    }
}

fn toml_value(value: &Scalar) -> toml::Value {
    match value {
        Scalar::Switch(on) => (*on).into(),
        Scalar::Integer(number) => (*number).into(),
        Scalar::Number(number) => (*number).into(),
        Scalar::Text(text) => text.clone().into(),
    }
}

impl Vary {
    fn points(&self, place: &str, seed: u64) -> Result<Vec<Point>> {
        if !self.list.is_empty() {
            if !self.keys.is_empty() || self.points.is_some() {
                return Err(BadInput::new(place, "a list together with keys or points", "either `list`, or keys with their values"));
            }
            return Ok(self.list.clone());
        }
        if self.keys.is_empty() {
            return Err(BadInput::new(place, "nothing varies", "keys such as \"machine.dram\" with a list or a range each"));
        }
        for (key, values) in &self.keys {
            values.check(&format!("{place}: {key}"))?;
        }
        let count = match self.points {
            Some(points) => points,
            None => self.keys.values().try_fold(1u64, |all, values| all.checked_mul(values.steps())).unwrap_or(u64::MAX),
        };
        if !(1..=MOST_POINTS).contains(&count) {
            return Err(BadInput::new(place, format!("{count} points"), format!("1 to {MOST_POINTS}; `points = N` draws some of them")));
        }
        Ok((0..count).map(|index| self.point(index, seed)).collect())
    }

    /// The point with this index: a combination, in which the last key varies fastest, or a random
    /// draw.
    fn point(&self, index: u64, seed: u64) -> Point {
        let mut rest = index;
        let mut values: Vec<(String, Scalar)> = Vec::new();
        for (key, of) in self.keys.iter().rev() {
            let value = match self.points {
                Some(_) => of.draw(share(seed, index, key)),
                None => {
                    let at = rest % of.steps();
                    rest /= of.steps();
                    of.step(at)
                }
            };
            values.push((key.clone(), value));
        }
        values.into_iter().collect()
    }
}

/// A pseudo-random number in [0, 1) that depends only on the arguments.
fn share(seed: u64, index: u64, key: &str) -> f64 {
    let digest = Sha256::digest(format!("{seed}/{index}/{key}"));
    let bits = digest.iter().take(7).fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    bits as f64 / (1u64 << 56) as f64
}

impl Values {
    fn check(&self, place: &str) -> Result<()> {
        match self {
            Values::List(values) if values.is_empty() => Err(BadInput::new(place, "an empty list", "at least one value")),
            Values::List(values) => match values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)) {
                Some((_, twice)) => Err(BadInput::new(place, format!("'{twice}' twice"), "each value once")),
                None => Ok(()),
            },
            Values::Range(range) => range.check(place),
        }
    }

    fn steps(&self) -> u64 {
        match self {
            Values::List(values) => values.len() as u64,
            Values::Range(range) => range.steps,
        }
    }

    fn step(&self, at: u64) -> Scalar {
        match self {
            Values::List(values) => values[at as usize].clone(),
            Values::Range(range) => range.value(if range.steps > 1 { at as f64 / (range.steps - 1) as f64 } else { 0.0 }),
        }
    }

    fn draw(&self, share: f64) -> Scalar {
        match self {
            Values::List(values) => values[(share * values.len() as f64) as usize].clone(),
            Values::Range(range) => range.value(share),
        }
    }
}

impl Range {
    fn check(&self, place: &str) -> Result<()> {
        if self.low > self.high || self.log && self.low <= 0.0 {
            let found = format!("low {}, high {}", self.low, self.high);
            return Err(BadInput::new(place, found, "low at most high, and above 0 with log"));
        }
        if self.steps == 0 {
            return Err(BadInput::new(place, "0 steps", "at least 1"));
        }
        Ok(())
    }

    /// The number at a share (0 to 1) of the range, with its unit. Bytes and pages are integers.
    fn value(&self, share: f64) -> Scalar {
        let number =
            if self.log { (self.low.ln() + share * (self.high / self.low).ln()).exp() } else { self.low + share * (self.high - self.low) };
        let number: f64 = format!("{number:.9e}").parse().unwrap_or(number);
        match self.unit.as_str() {
            "" if number.fract() == 0.0 && number.abs() < 9e15 => Scalar::Integer(number as i64),
            "" => Scalar::Number(number),
            "%" => Scalar::Text(format!("{}%", (number * 1e4).round() / 1e4)),
            unit => Scalar::Text(format!("{}{unit}", number.round())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(vary: &str) -> Result<Vec<String>> {
        let vary: Vary = toml::from_str(vary).unwrap();
        let shown = |point: &Point| point.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ");
        Ok(vary.points("vary", 7)?.iter().map(shown).collect())
    }

    #[test]
    fn combinations_by_hand() {
        let listed = points("\"a\" = [1, 'x']\n\"b\" = { low = 5, high = 25, steps = 2, unit = '%' }").unwrap();
        assert_eq!(listed, ["a=1 b=5%", "a=1 b=25%", "a=x b=5%", "a=x b=25%"]);
        assert_eq!(points("\"a\" = { low = 1, high = 100, steps = 3, log = true }").unwrap(), ["a=1", "a=10", "a=100"]);
        assert_eq!(points("list = [{ a = 1 }, { a = 2, b = true }]").unwrap(), ["a=1", "a=2 b=true"]);
    }

    #[test]
    fn a_longer_list_of_draws_begins_with_a_shorter_one() {
        let vary = |count: u32| points(&format!("points = {count}\n\"a\" = {{ low = 0, high = 1 }}\n\"b\" = ['x', 'y', 'z']")).unwrap();
        let (few, many) = (vary(4), vary(300));
        assert_eq!(few, many[..4]);
        let of = |letter: &str| many.iter().filter(|point| point.ends_with(letter)).count();
        assert!(["x", "y", "z"].into_iter().all(|letter| (60..=140).contains(&of(letter))), "drawn evenly");
    }

    #[test]
    fn errors_name_what_cannot_be_varied() {
        let error = |vary| points(vary).unwrap_err().to_string();
        assert!(error("").contains("nothing varies"));
        assert!(error("\"a\" = []").contains("vary: a: an empty list"));
        assert_eq!(error("\"a\" = ['50%', '50%']"), "vary: a: '50%' twice; expected each value once");
        assert!(error("\"a\" = { low = 2, high = 1 }").contains("low 2, high 1"));
        assert!(error("points = 0\n\"a\" = [1]").contains("0 points"));
        assert!(error("list = [{ a = 1 }]\n\"a\" = [1]").contains("a list together with keys"));
    }
}
