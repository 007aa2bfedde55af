//! The `[bench]` table: real programs launched and switched between under each swap scheme of a kernel. `python/swaplab/live` runs it;
//! `swaplab sim` runs its simulated counterpart.

use super::OneOrMany;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swaplab_apps::a2s::AppPolicy;
use swaplab_swap::SCHEMES;
use swaplab_vocab::{unknown_key, BadInput, Memory, Result};

/// Real programs in one memory control group, under each swap scheme and swap size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// What results call it.
    #[serde(default = "default_name")]
    pub name: String,
    #[serde(default)]
    pub about: String,
    /// Limit of the apps together: `512MiB`, or `4096p`.
    pub memory: String,
    /// Sizes of the swap area, each a configuration of its own.
    pub swap: OneOrMany,
    /// Schemes by their keys, such as `none` and `zram`.
    pub schemes: OneOrMany,
    pub apps: Vec<Use>,
    /// The apps in one round: `round-robin`, their names, or a draw by popularity.
    #[serde(default)]
    pub order: Order,
    #[serde(default = "three")]
    pub rounds: u64,
    /// Rounds before the first one that counts.
    #[serde(default = "one")]
    pub warm_up_rounds: u64,
    /// How often each configuration is run anew.
    #[serde(default = "two")]
    pub repetitions: u64,
    /// Seconds that an app is left in front after its request.
    #[serde(default = "default_foreground")]
    pub foreground_seconds: f64,
    /// `vm.page-cluster`: pages that a swap-in reads ahead, as a power of two; without it, as the machine has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cluster: Option<u64>,
    /// Most that a read of a file reads ahead, in KiB, on the disk with the apps' files: the kernel's own default, which phones keep (some
    /// machines come with megabytes, which on a phone's memory push out what was read before).
    #[serde(default = "default_read_ahead")]
    pub read_ahead_kb: u64,
    #[serde(default = "default_swappiness")]
    pub swappiness: u64,
    #[serde(default = "default_zram_algorithm")]
    pub zram_algorithm: String,
    /// Empty: as the machine has it.
    #[serde(default)]
    pub zswap_algorithm: String,
    #[serde(default)]
    pub pool_memory: PoolMemory,
    /// Whose pages may be swapped out, one configuration each where there is swap: all (`none`), `ess`, `lvsp` or `a2s`.
    #[serde(default = "default_app_policies")]
    pub app_policies: Vec<AppPolicy>,
    /// More apps alive than this, and the one used longest ago goes (Android's limit of cached processes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_limit: Option<u64>,
    #[serde(default)]
    pub killer: BenchKiller,
    /// Measure microbenchmarks first and say how well they predict this experiment.
    #[serde(default = "default_calibrate")]
    pub calibrate: bool,
}

/// An app of the bench: a known app, or the path of an app file, with values of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Use {
    /// `redis`, `swaplab-app` and others that come along, or an app file, relative to the experiment file.
    pub r#use: String,
    /// In place of the app's own name.
    #[serde(default)]
    pub name: String,
    /// That many of it, named name-1, name-2, ..., with seeds of their own where it has a seed.
    #[serde(default = "one")]
    pub count: u64,
    /// Values of the app file's `set`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Plain>,
}

/// A value of an app's `set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a number")]
pub enum Plain {
    Text(String),
    Whole(i64),
    Number(f64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "round-robin, a list of apps' names, or a table with launches and alpha")]
pub enum Order {
    InTurn(RoundRobin),
    Names(Vec<String>),
    Drawn(Zipf),
}

impl Default for Order {
    fn default() -> Order {
        Order::InTurn(RoundRobin::RoundRobin)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundRobin {
    /// Each app once, as they are listed.
    RoundRobin,
}

/// Launches drawn by popularity 1 / rank^alpha over the apps in their order; no app is launched twice in a row (A2S, Table 1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zipf {
    pub launches: u64,
    pub alpha: f64,
    #[serde(default = "one")]
    pub seed: u64,
}

/// Where the memory that a swap area takes (a RAM disk, zram's pool) comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolMemory {
    /// On top of `memory`.
    #[default]
    Extra,
    /// Out of `memory`: the view at equal total memory.
    Within,
}

/// The bench's low-memory killer, by lmkd's names where it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BenchKiller {
    /// Free memory and file pages below this share of the limit are low memory.
    pub min_free_percentage: f64,
    /// Free swap below this share of all swap is low swap.
    pub swap_free_low_percentage: f64,
    /// Refaults of file pages within a second, in percent of the file pages, that are thrashing.
    pub thrashing_limit: f64,
    /// Thrashing counts only with at least this stall within the second.
    pub psi_partial_stall_ms: f64,
    pub poll_ms: f64,
}

impl Default for BenchKiller {
    fn default() -> BenchKiller {
        BenchKiller {
            min_free_percentage: 6.0,
            swap_free_low_percentage: 10.0,
            thrashing_limit: 100.0,
            psi_partial_stall_ms: 70.0,
            poll_ms: 10.0,
        }
    }
}

/// Visits of one configuration, all of which a run keeps.
const MOST_VISITS: f64 = 1e5;

fn default_name() -> String {
    "bench".into()
}

fn one() -> u64 {
    1
}

fn two() -> u64 {
    2
}

fn three() -> u64 {
    3
}

fn default_foreground() -> f64 {
    0.05
}

fn default_read_ahead() -> u64 {
    128
}

fn default_swappiness() -> u64 {
    60
}

fn default_zram_algorithm() -> String {
    "lz4".into()
}

fn default_app_policies() -> Vec<AppPolicy> {
    vec![AppPolicy::None]
}

fn default_calibrate() -> bool {
    true
}

impl Bench {
    /// The table, if its values can be meant. What an app file says is for whoever reads it.
    pub fn check(&self, place: &str) -> Result<()> {
        let bad = |key: &str, found: String, expected: &str| Err(BadInput::new(format!("{place}: bench.{key}"), found, expected));
        let lists = [
            ("swap", self.swap.as_slice().len()),
            ("schemes", self.schemes.as_slice().len()),
            ("apps", self.apps.len()),
            ("app_policies", self.app_policies.len()),
        ];
        if let Some((key, _)) = lists.iter().find(|(_, length)| *length == 0) {
            return bad(key, "an empty list".into(), "at least one");
        }
        for (key, size) in std::iter::once(("memory", &self.memory)).chain(self.swap.as_slice().iter().map(|size| ("swap", size))) {
            if let Memory::Percent(_) = Memory::parse(size).map_err(|e| e.within(&format!("{place}: bench.{key}")))? {
                return bad(key, format!("'{size}'"), "a size such as 64MiB or 4096p");
            }
        }
        for scheme in self.schemes.as_slice() {
            if !SCHEMES.iter().any(|known| known.key == scheme) {
                return Err(unknown_key(&format!("{place}: bench.schemes"), "scheme", scheme, SCHEMES.iter().map(|known| known.key)));
            }
        }
        let steerable = [AppPolicy::None, AppPolicy::Ess, AppPolicy::Lvsp, AppPolicy::A2s];
        if let Some(other) = self.app_policies.iter().find(|policy| !steerable.contains(policy)) {
            return bad(
                "app_policies",
                format!("{other:?}").to_lowercase(),
                "none, ess, lvsp or a2s: a stock kernel cannot be steered by more",
            );
        }
        let k = &self.killer;
        let amounts = [
            ("rounds", self.rounds as f64, 1.0, 1e9),
            ("warm_up_rounds", self.warm_up_rounds as f64, 0.0, 1e9),
            ("repetitions", self.repetitions as f64, 1.0, 1e6),
            ("foreground_seconds", self.foreground_seconds, 0.0, 1e6),
            ("page_cluster", self.page_cluster.unwrap_or(0) as f64, 0.0, 10.0),
            ("read_ahead_kb", self.read_ahead_kb as f64, 4.0, 4096.0),
            ("swappiness", self.swappiness as f64, 0.0, 200.0),
            ("live_limit", self.live_limit.unwrap_or(1) as f64, 1.0, 1e9),
            ("killer.min_free_percentage", k.min_free_percentage, 0.0, 100.0),
            ("killer.swap_free_low_percentage", k.swap_free_low_percentage, 0.0, 100.0),
            ("killer.thrashing_limit", k.thrashing_limit, 1e-9, 1e12),
            ("killer.psi_partial_stall_ms", k.psi_partial_stall_ms, 0.0, 1e12),
            ("killer.poll_ms", k.poll_ms, 1e-3, 1e6),
        ];
        if let Some((key, value, least, most)) = amounts.into_iter().find(|(_, value, least, most)| !(*least..=*most).contains(value)) {
            return bad(key, value.to_string(), &format!("{least} to {most}"));
        }
        if let Some(app) = self.apps.iter().find(|app| !(1..=200).contains(&app.count)) {
            return bad("apps", format!("count {} of {}", app.count, app.r#use), "1 to 200");
        }
        let a_round = match &self.order {
            Order::Names(names) if names.is_empty() => return bad("order", "an empty list".into(), "at least one app's name"),
            Order::Drawn(zipf) if zipf.launches < 1 || !(0.0..1e3).contains(&zipf.alpha) => {
                let found = format!("{} launches, alpha {}", zipf.launches, zipf.alpha);
                return bad("order", found, "at least 1 launch, alpha from 0 to 1000");
            }
            Order::InTurn(_) => self.apps.iter().map(|app| app.count).sum(),
            Order::Names(names) => names.len() as u64,
            Order::Drawn(zipf) => zipf.launches,
        };
        let visits = a_round as f64 * (self.warm_up_rounds as f64 + self.rounds as f64);
        if visits > MOST_VISITS {
            return bad("rounds", format!("{visits} visits in all"), &format!("at most {MOST_VISITS}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::Experiment;

    const FILE: &str = "[bench]\nmemory = '64MiB'\nswap = '16MiB'\nschemes = ['none', 'zram']\n\
                        apps = [{ use = 'swaplab-app', set = { footprint = '24MiB', seed = 1, hot_share = 0.5 } }]\n";

    #[test]
    fn a_bench_is_resolved_and_survives_json() {
        let set = ["bench.swappiness=100".to_string(), "bench.killer.poll_ms=5".into(), "bench.memory=1GiB".into()];
        let read = Experiment::parse("e.toml", FILE, &set).unwrap();
        let json = serde_json::to_string(&read).unwrap();
        assert!(
            json.contains("\"swappiness\":100") && json.contains("\"poll_ms\":5.0") && json.contains("\"order\":\"round-robin\""),
            "{json}"
        );
        assert!(json.contains("{\"footprint\":\"24MiB\",\"hot_share\":0.5,\"seed\":1}"), "{json}");
        assert_eq!(Experiment::from_json("m", &json).unwrap(), read);
        assert_eq!(Experiment::parse("e.json", &json, &[]).unwrap(), read);
        let fewer = Experiment::parse("e.json", &json, &["bench.schemes=zram".into()]).unwrap();
        assert_eq!(fewer.bench.unwrap().schemes.as_slice(), ["zram"]);
    }

    #[test]
    fn what_can_not_be_meant_is_refused_by_its_key() {
        let cases = [
            ("bench.memory=lots", "expected a size such as 64MiB"),
            ("bench.memory=5%", "bench.memory: '5%'"),
            ("bench.swap=[]", "bench.swap: an empty list"),
            ("bench.schemes=zrm", "unknown scheme 'zrm'; expected 'zram' (did you mean that?)"),
            ("bench.rounds=0", "bench.rounds: 0; expected 1 to"),
            ("bench.rounds=100000", "bench.rounds: 100001 visits in all; expected at most 100000"),
            ("bench.order={launches=99999,alpha=1}", "visits in all"),
            ("bench.repetitions=0", "bench.repetitions: 0"),
            ("bench.page_cluster=11", "bench.page_cluster: 11; expected 0 to 10"),
            ("bench.killer.poll_ms=0", "bench.killer.poll_ms: 0"),
            ("bench.killer.poll=1", "unknown key 'poll'; expected 'poll_ms' (did you mean that?)"),
            ("bench.swapiness=1", "unknown key 'swapiness'; expected 'swappiness' (did you mean that?)"),
            ("bench.app_policies=['acclaim']", "expected none, ess, lvsp or a2s"),
            ("bench.order={launches=0,alpha=1}", "0 launches"),
            ("bench.order=random", "round-robin, a list of apps' names, or a table"),
            ("bench.apps=[{use='redis',count=0}]", "count 0 of redis"),
            ("replay.trace=x", "[replay] and [bench]"),
        ];
        for (set, said) in cases {
            let e = Experiment::parse("e.toml", FILE, &[set.to_string()]).unwrap_err().to_string();
            assert!(e.contains(said) && !e.contains('\n'), "{set}: {e}");
        }
    }
}
