//! What: a person's phone for some days: sessions by day, none by night; within a session, apps come back by recency or by
//! popularity.
//! Why: A2S' beat of 23 s has no idle time and no bursts; a phone in use has both.
//! Source: none published; every value is assumed. The shape (sessions, recency) follows what READING 004 says of real users:
//! gaps between launches of an app are burstier than those of independent draws.
//! Deviations: no weekdays, no new apps.
//! Weakness: one pattern for all users; for conclusions use recorded sequences.

use super::{Draw, Generator, Parameter, Popularity, Step, Values};

pub const GENERATOR: Generator = Generator {
    key: "daily",
    what: "sessions over days, apps by recency and popularity (assumed values)",
    source: "assumed",
    parameters: &[
        Parameter { name: "apps", default: 40.0, least: 2.0, most: 10_000.0, meaning: "apps to draw from (assumed)" },
        Parameter { name: "alpha", default: 1.2, least: 0.0, most: 10.0, meaning: "popularity is 1 / rank^alpha (assumed)" },
        Parameter { name: "days", default: 7.0, least: 1.0, most: 3650.0, meaning: "days" },
        Parameter { name: "sessions", default: 50.0, least: 1.0, most: 10_000.0, meaning: "sessions a day on average (assumed)" },
        Parameter { name: "launches", default: 3.0, least: 1.0, most: 1_000.0, meaning: "launches a session on average (assumed)" },
        Parameter { name: "foreground", default: 60.0, least: 0.1, most: 1e5, meaning: "seconds in front on average (assumed)" },
        Parameter { name: "recency", default: 0.4, least: 0.0, most: 0.99, meaning: "share of launches drawn by recency (assumed)" },
        Parameter { name: "awake", default: 16.0, least: 1.0, most: 24.0, meaning: "hours a day with sessions (assumed)" },
    ],
    generate,
};

const DAY: f64 = 86_400.0;
/// Between two launches of a session, as in A2S' benchmark.
const HOME_S: f64 = 3.0;

fn generate(values: &Values, draw: &mut Draw) -> Vec<Step> {
    let popularity = Popularity::new(values.get("apps") as usize, values.get("alpha"));
    let (awake, days) = (values.get("awake") * 3600.0, values.get("days"));
    let more = 1.0 - 1.0 / values.get("launches");
    let (mut steps, mut recent): (Vec<Step>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut at_s = 0.0;
    loop {
        at_s += draw.exponential(awake / values.get("sessions"));
        if at_s % DAY >= awake {
            at_s = (at_s / DAY).floor() * DAY + DAY;
            continue;
        }
        if at_s >= days * DAY {
            return steps;
        }
        loop {
            let rank = next(&popularity, &recent, values.get("recency"), draw);
            let foreground_s = draw.exponential(values.get("foreground"));
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

/// Never the app of the launch before. By recency: the n-th last app with probability 2^-n.
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
