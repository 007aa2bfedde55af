//! What: the same apps in the same order, in rounds, each for the same time.
//! Why: the protocol of DR.Swap and SwapBench: five apps of a category, a minute each, three
//! rounds. In the first round apps start, later ones switch to them.
//! Source: DR.Swap (Zhong et al. 2016), Section V-B. For SwapBench the same protocol is assumed,
//! because our copy of its text breaks off there (docs/papers/swapbench.md).
//! Deviations: none; the home screen between two apps is an option, DR.Swap switches directly.
//! Weakness: no randomness and no locality: the worst order for LRU when the apps do not all fit.

use super::{Draw, Generator, Info, Step};
use swaplab_vocab::{Kind, Parameter, Params};

pub static GENERATOR: Generator = Generator {
    key: "round-robin",
    what: "the same apps in turn, each for the same time",
    source: "DR.Swap, Section V-B",
    parameters: &[
        Parameter::new("apps", Kind::Integer { low: 2, high: 10_000 }, "5", "apps, one after the other"),
        Parameter::new("rounds", Kind::Integer { low: 1, high: 1_000_000 }, "3", "times that each is launched"),
        Parameter::new("foreground", Kind::Number { low: 0.0, high: 1e6 }, "60", "seconds in front"),
        Parameter::new("home", Kind::Number { low: 0.0, high: 1e6 }, "0", "seconds at the home screen after it"),
    ],
    info: Info { generate, independent: false },
};

fn generate(params: &Params, _: &mut Draw) -> Vec<Step> {
    let (apps, foreground_s) = (params.number("apps") as usize, params.number("foreground"));
    let interval_s = foreground_s + params.number("home");
    let steps = 0..apps * params.number("rounds") as usize;
    steps.map(|number| Step { rank: number % apps, at_s: number as f64 * interval_s, foreground_s }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::LaunchSpec;

    #[test]
    fn two_rounds_of_three_apps() {
        let steps = LaunchSpec::parse("round-robin:apps=3,rounds=2,foreground=10,home=1").unwrap().steps(5);
        let seen: Vec<_> = steps.iter().map(|s| (s.rank, s.at_s)).collect();
        assert_eq!(seen, [(0, 0.0), (1, 11.0), (2, 22.0), (0, 33.0), (1, 44.0), (2, 55.0)]);
        assert!(steps.iter().all(|s| s.foreground_s == 10.0));
    }
}
