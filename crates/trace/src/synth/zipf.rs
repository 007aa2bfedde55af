//! What: launches drawn by popularity (Zipf), an app never twice in a row, at a fixed interval.
//! Why: A2S' workloads: 256 launches, each 20 s in front and 3 s at home.
//! Source: fitted to A2S (Kim et al. 2017), Table 1: unique apps, average reuse distance
//! (docs/papers/a2s.md).
//! Deviations: the paper replays sequences of three real users; these traces match only two
//! statistics of them.
//! Weakness: draws are independent, which is A2S' own assumption; real users are burstier.
//! Conclusions from these traces are premise-built.

use super::{Draw, Generator, Info, Popularity, Step};
use swaplab_vocab::{Kind, Parameter, Params};

pub static GENERATOR: Generator = Generator {
    key: "zipf",
    what: "independent launches by popularity at a fixed interval",
    source: "A2S, Table 1 and Section 5.1",
    parameters: &[
        Parameter::new("apps", Kind::Integer { low: 2, high: 10_000 }, "50", "apps to draw from"),
        Parameter::new("alpha", Kind::Number { low: 0.0, high: 10.0 }, "1.45", "popularity is 1 / rank^alpha"),
        Parameter::new("launches", Kind::Integer { low: 1, high: 10_000_000 }, "256", "launches, repeats in a row merged"),
        Parameter::new("foreground", Kind::Number { low: 0.0, high: 1e6 }, "20", "seconds in front"),
        Parameter::new("home", Kind::Number { low: 0.0, high: 1e6 }, "3", "seconds at the home screen after it"),
    ],
    info: Info { generate, independent: true },
};

fn generate(params: &Params, draw: &mut Draw) -> Vec<Step> {
    let (foreground_s, home) = (params.number("foreground"), params.number("home"));
    let ranks = ranks(params.number("apps") as usize, params.number("alpha"), params.number("launches") as usize, draw);
    let step = |(number, rank)| Step { rank, at_s: number as f64 * (foreground_s + home), foreground_s };
    ranks.into_iter().enumerate().map(step).collect()
}

/// The ranks of `launches` launches of `apps` apps, from 0; no rank twice in a row where there are
/// two.
pub fn ranks(apps: usize, alpha: f64, launches: usize, draw: &mut Draw) -> Vec<usize> {
    let popularity = Popularity::new(apps, alpha);
    let mut ranks: Vec<usize> = Vec::with_capacity(launches);
    while ranks.len() < launches {
        let rank = popularity.draw(draw);
        if apps < 2 || ranks.last() != Some(&rank) {
            ranks.push(rank);
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::super::LaunchSpec;
    use crate::launches::reuse;

    /// Table 1 of A2S: within 10 % as means over 20 seeds.
    #[test]
    fn presets_match_table_1() {
        for (preset, unique, stack) in [("small", 12.0, 2.23), ("medium", 23.0, 4.56), ("large", 36.0, 6.10)] {
            let spec = LaunchSpec::parse(preset).unwrap();
            let of_seed = |seed| reuse(spec.steps(seed).iter().map(|s| s.rank as u16));
            let all: Vec<_> = (0..20).map(of_seed).collect();
            let apps = all.iter().map(|r| r.unique_apps.unwrap() as f64).sum::<f64>() / 20.0;
            let distance = all.iter().map(|r| r.average_stack_distance.unwrap()).sum::<f64>() / 20.0;
            assert!((apps / unique - 1.0).abs() < 0.1, "{preset}: {apps} apps, {unique} published");
            assert!((distance / stack - 1.0).abs() < 0.1, "{preset}: {distance}, {stack} published");
        }
    }

    #[test]
    fn apps_are_20_s_in_front_and_3_s_at_home() {
        let steps = LaunchSpec::parse("large").unwrap().steps(7);
        assert_eq!((steps.len(), steps[2].at_s, steps[2].foreground_s), (256, 46.0, 20.0));
    }
}
