//! What: several days of a person's phone: sessions during the day, none at night; within a
//! session, apps are drawn by recency or by popularity.
//! Why: in A2S an app is launched every 23 s, without idle time and bursts; real use has both.
//! Source: none published; every value is assumed. The model (sessions, recency) follows
//! docs/papers/a2s.md on real users: intervals between launches of an app are burstier than those
//! of independent draws.
//! Deviations: no weekdays, no new apps.
//! Weakness: one pattern for all users; for conclusions use recorded sequences.

use super::{Draw, Generator, Info, Popularity, Step};
use swaplab_vocab::{Kind, Parameter, Params};

pub static GENERATOR: Generator = Generator {
    key: "daily",
    what: "sessions over days, apps by recency and popularity (assumed values)",
    source: "assumed",
    parameters: &[
        Parameter::new("apps", Kind::Integer { low: 2, high: 10_000 }, "40", "apps to draw from (assumed)"),
        Parameter::new("alpha", Kind::Number { low: 0.0, high: 10.0 }, "1.2", "popularity is 1 / rank^alpha (assumed)"),
        Parameter::new("days", Kind::Number { low: 1.0, high: 3650.0 }, "7", "days"),
        Parameter::new("sessions", Kind::Number { low: 1.0, high: 10_000.0 }, "50", "sessions a day on average (assumed)"),
        Parameter::new("launches", Kind::Number { low: 1.0, high: 1_000.0 }, "3", "launches a session on average (assumed)"),
        Parameter::new("foreground", Kind::Number { low: 0.1, high: 1e5 }, "60", "seconds in front on average (assumed)"),
        Parameter::new("recency", Kind::Number { low: 0.0, high: 0.99 }, "0.4", "share of launches drawn by recency (assumed)"),
        Parameter::new("awake", Kind::Number { low: 1.0, high: 24.0 }, "16", "hours a day with sessions (assumed)"),
    ],
    info: Info { generate, independent: false },
};

const DAY: f64 = 86_400.0;
/// Time at the home screen between two launches of a session, in seconds, as in A2S' benchmark.
const HOME_S: f64 = 3.0;

fn generate(params: &Params, draw: &mut Draw) -> Vec<Step> {
    let popularity = Popularity::new(params.number("apps") as usize, params.number("alpha"));
    let (awake, days) = (params.number("awake") * 3600.0, params.number("days"));
    let more = 1.0 - 1.0 / params.number("launches");
    let (mut steps, mut recent): (Vec<Step>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut at_s = 0.0;
    loop {
        at_s += draw.exponential(awake / params.number("sessions"));
        if at_s % DAY >= awake {
            at_s = (at_s / DAY).floor() * DAY + DAY;
            continue;
        }
        if at_s >= days * DAY {
            return steps;
        }
        loop {
            let rank = next(&popularity, &recent, params.number("recency"), draw);
            let foreground_s = draw.exponential(params.number("foreground"));
            steps.push(Step { rank, at_s, foreground_s });
            at_s += foreground_s + HOME_S;
            recent.retain(|r| *r != rank);
            recent.push(rank);
            if draw.unit() >= more {
                break;
            }
        }
    }
}

/// Draw the next app, which differs from the previous one. By recency, the n-th most recent app has
/// probability 2^-n.
fn next(popularity: &Popularity, recent: &[usize], recency: f64, draw: &mut Draw) -> usize {
    let last = recent.last();
    if recent.len() > 1 && draw.unit() < recency {
        let back = (-draw.unit().max(f64::MIN_POSITIVE).log2()).floor() as usize;
        return recent[recent.len() - 2 - back.min(recent.len() - 2)];
    }
    loop {
        let rank = popularity.draw(draw);
        if last != Some(&rank) {
            return rank;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LaunchSpec;
    use super::{DAY, HOME_S};

    /// Sessions begin in the first 10 hours of each of 30 days. Their number and that of launches
    /// are those of the parameters within a tenth.
    #[test]
    fn sessions_are_spread_over_the_waking_hours_of_every_day() {
        let (sessions, launches) = (40.0, 3.0);
        let spec = "daily:days=30,awake=10,foreground=5,sessions=40,launches=3";
        let steps = LaunchSpec::parse(spec).unwrap().steps(1);
        let gaps: Vec<f64> = steps.windows(2).map(|two| two[1].at_s - two[0].at_s - two[0].foreground_s).collect();
        // Within a session the next launch follows after the home screen.
        assert!(gaps.iter().all(|gap| *gap > HOME_S - 1e-6));
        let begins = gaps.iter().filter(|gap| **gap > HOME_S + 1e-6).count() as f64;
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.1;
        assert!(near(begins, 30.0 * sessions) && near(steps.len() as f64, 30.0 * sessions * launches), "{begins} {}", steps.len());
        let mut days: Vec<u64> = steps.iter().map(|step| (step.at_s / DAY) as u64).collect();
        days.dedup();
        assert_eq!(days, (0..30).collect::<Vec<_>>());
        // The last session of a day may last a little longer.
        assert!(steps.iter().all(|step| step.at_s % DAY < 10.5 * 3600.0));
    }
}
