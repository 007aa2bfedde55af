//! What: launches drawn one by one by popularity (Zipf), an app never twice in a row, at a fixed beat.
//! Why: A2S' workloads: 256 launches, each 20 s in front and 3 s at home.
//! Source: READING 004: fitted to Table 1 of A2S (unique apps, average reuse distance).
//! Deviations: the paper replays sequences of three real users; these have their two figures alone.
//! Weakness: draws are independent, which is A2S' own assumption; real users are burstier. What is shown on these traces is
//! premise-built.

use super::{Draw, Generator, Parameter, Popularity, Step, Values};

pub const GENERATOR: Generator = Generator {
    key: "zipf",
    what: "independent launches by popularity at a fixed beat",
    source: "A2S, Table 1 and Section 5.1",
    parameters: &[
        Parameter { name: "apps", default: 50.0, least: 2.0, most: 10_000.0, meaning: "apps to draw from" },
        Parameter { name: "alpha", default: 1.45, least: 0.0, most: 10.0, meaning: "popularity is 1 / rank^alpha" },
        Parameter { name: "launches", default: 256.0, least: 1.0, most: 1e7, meaning: "launches, repeats in a row merged" },
        Parameter { name: "foreground", default: 20.0, least: 0.0, most: 1e6, meaning: "seconds in front" },
        Parameter { name: "home", default: 3.0, least: 0.0, most: 1e6, meaning: "seconds at the home screen after it" },
    ],
    generate,
};

fn generate(values: &Values, draw: &mut Draw) -> Vec<Step> {
    let popularity = Popularity::new(values.get("apps") as usize, values.get("alpha"));
    let (foreground_s, home) = (values.get("foreground"), values.get("home"));
    let mut steps: Vec<Step> = Vec::new();
    while steps.len() < values.get("launches") as usize {
        let rank = popularity.draw(draw);
        if steps.last().is_none_or(|s| s.rank != rank) {
            steps.push(Step { rank, at_s: steps.len() as f64 * (foreground_s + home), foreground_s });
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::super::Spec;
    use crate::launches::reuse;

    /// Table 1 of A2S: within 10 % as means over 20 seeds.
    #[test]
    fn presets_match_table_1() {
        for (preset, unique, stack) in [("small", 12.0, 2.23), ("medium", 23.0, 4.56), ("large", 36.0, 6.10)] {
            let spec = Spec::parse(preset).unwrap();
            let of_seed = |seed| reuse(spec.steps(seed).iter().map(|s| s.rank as u16));
            let all: Vec<_> = (0..20).map(of_seed).collect();
            let apps = all.iter().map(|r| r.unique_apps.unwrap() as f64).sum::<f64>() / 20.0;
            let distance = all.iter().map(|r| r.average_stack_distance.unwrap()).sum::<f64>() / 20.0;
            assert!((apps / unique - 1.0).abs() < 0.1, "{preset}: {apps} apps, {unique} published");
            assert!((distance / stack - 1.0).abs() < 0.1, "{preset}: {distance}, {stack} published");
        }
    }

    #[test]
    fn the_beat_is_20_and_3_seconds() {
        let steps = Spec::parse("large").unwrap().steps(7);
        assert_eq!((steps.len(), steps[2].at_s, steps[2].foreground_s), (256, 46.0, 20.0));
    }
}
