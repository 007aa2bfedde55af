//! `[[design]]`: what is compared. Lists in a design are crossed: two policies and two schemes give
//! four designs, named by their differences.

use crate::one_or_many::OneOrMany;
use crate::settings::Proactive;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{BadInput, Result, Spec};

/// A design, or several if it contains lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Design {
    /// The name in results; by default, the values that differ between the designs.
    pub name: String,
    /// Which page is reclaimed: a policy of `swaplab list policies`, or `system` for the world's
    /// own reclaim (that of the kernel, or the model of it in `machine.kernel`).
    pub policy: OneOrMany<Spec>,
    /// Where a victim goes: a scheme of `swaplab list schemes`. Only `replay` runs a design without
    /// a scheme: swap is then unlimited, and each page costs as much as on
    /// `run.replay.swap_device`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<OneOrMany<Spec>>,
    /// Whose pages may be swapped out: an app policy of `swaplab list app-policies`.
    pub app_policy: OneOrMany<Spec>,
    /// The low-memory killer, instead of `machine.killer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killer: Option<OneOrMany<Spec>>,
    /// Which pages are read at the start of an app before it accesses them.
    pub prepage: Prepage,
    /// Proactive reclaim, instead of `machine.proactive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proactive: Option<Proactive>,
}

/// Prepaging at the start of an app.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Prepage {
    #[default]
    None,
    /// Adaptive prepaging (ASAP, Son et al. 2021).
    Asap,
}

/// The policy that stands for the world's own reclaim.
pub const SYSTEM: &str = "system";

impl Default for Design {
    fn default() -> Design {
        Design {
            name: String::new(),
            policy: OneOrMany::One(Spec::of(SYSTEM)),
            swap: None,
            app_policy: OneOrMany::One(Spec::of("none")),
            killer: None,
            prepage: Prepage::None,
            proactive: None,
        }
    }
}

impl Design {
    /// The policy of a crossed design.
    pub fn policy(&self) -> &Spec {
        self.policy.only().expect("a crossed design has one policy")
    }

    pub fn swap(&self) -> Option<&Spec> {
        self.swap.as_ref().map(|swap| swap.only().expect("a crossed design has one scheme"))
    }

    pub fn app_policy(&self) -> &Spec {
        self.app_policy.only().expect("a crossed design has one app policy")
    }

    pub fn killer(&self) -> Option<&Spec> {
        self.killer.as_ref().map(|killer| killer.only().expect("a crossed design has one killer"))
    }

    /// Every combination of this design's lists, in their order, without names.
    fn cross(&self) -> Vec<Design> {
        let optional = |list: &Option<OneOrMany<Spec>>| -> Vec<Option<Spec>> {
            list.as_ref().map_or(vec![None], |list| list.as_slice().iter().cloned().map(Some).collect())
        };
        let single = |spec: &Spec| OneOrMany::One(spec.clone());
        let mut crossed = Vec::new();
        for policy in self.policy.as_slice() {
            for swap in optional(&self.swap) {
                for app_policy in self.app_policy.as_slice() {
                    for killer in optional(&self.killer) {
                        let (swap, killer) = (swap.clone().map(OneOrMany::One), killer.map(OneOrMany::One));
                        crossed.push(Design { policy: single(policy), swap, app_policy: single(app_policy), killer, ..self.clone() });
                    }
                }
            }
        }
        crossed
    }
}

/// The four values of a design that may be lists, in their order in names.
fn listed(design: &Design) -> [Option<&Spec>; 4] {
    [Some(design.policy()), design.swap(), Some(design.app_policy()), design.killer()]
}

/// Cross the lists of all designs and name the results. The name of an unnamed design consists of
/// the values that differ between all designs: only their keys if these are unique, otherwise their
/// full texts.
pub fn crossed(place: &str, designs: &[Design]) -> Result<Vec<Design>> {
    if designs.is_empty() {
        return Err(BadInput::new(place, "no design", "at least one [[design]]"));
    }
    for (number, design) in designs.iter().enumerate() {
        let lists = [
            ("policy", design.policy.as_slice().len()),
            ("swap", design.swap.as_ref().map_or(1, |list| list.as_slice().len())),
            ("app_policy", design.app_policy.as_slice().len()),
            ("killer", design.killer.as_ref().map_or(1, |list| list.as_slice().len())),
        ];
        if let Some((key, _)) = lists.iter().find(|(_, length)| *length == 0) {
            return Err(BadInput::new(format!("{place}: design {}: {key}", number + 1), "an empty list", "at least one value"));
        }
    }
    let groups: Vec<(String, Vec<Design>)> = designs.iter().map(|design| (design.name.clone(), design.cross())).collect();
    let all: Vec<&Design> = groups.iter().flat_map(|(_, group)| group).collect();
    let differs = differing(&all);
    let mut named = Vec::new();
    for (name, group) in &groups {
        let within: Vec<&Design> = group.iter().collect();
        let own = differing(&within);
        for design in group {
            let parts = |which: [bool; 4], full: bool| -> String {
                let parts = listed(design).into_iter().zip(which).filter(|(_, wanted)| *wanted);
                let text = parts.map(|(spec, _)| spec.map_or("unlimited".into(), |s| if full { s.to_string() } else { s.key.clone() }));
                text.collect::<Vec<_>>().join(" · ")
            };
            let name_of = |full: bool| match (name.as_str(), own.contains(&true)) {
                ("", _) if differs.contains(&true) => parts(differs, full),
                ("", _) => design.swap().map_or_else(|| design.policy().key.clone(), |swap| swap.key.clone()),
                (name, false) => name.to_string(),
                (name, true) => format!("{name} · {}", parts(own, full)),
            };
            named.push((name_of(false), name_of(true), design.clone()));
        }
    }
    let shorts: Vec<String> = named.iter().map(|(short, ..)| short.clone()).collect();
    let unique = |short: &String| shorts.iter().filter(|other| *other == short).count() == 1;
    let designs: Vec<Design> =
        named.into_iter().map(|(short, long, design)| Design { name: if unique(&short) { short } else { long }, ..design }).collect();
    for (number, design) in designs.iter().enumerate() {
        if designs[..number].iter().any(|earlier| earlier.name == design.name) {
            return Err(BadInput::new(place, format!("two designs called '{}'", design.name), "designs that differ, or a name for each"));
        }
    }
    Ok(designs)
}

/// Clear the names that [`crossed`] gave to `designs` when they were as `before`, so that it names
/// them by how they differ now.
pub fn clear_automatic_names(designs: &mut [Design], before: &[Design]) {
    let unnamed: Vec<Design> = before.iter().map(|design| Design { name: String::new(), ..design.clone() }).collect();
    let automatic = crossed("", &unnamed).unwrap_or(unnamed);
    for ((design, before), automatic) in designs.iter_mut().zip(before).zip(automatic) {
        if design.name == before.name && before.name == automatic.name {
            design.name.clear();
        }
    }
}

/// Which of the four values differ between designs.
fn differing(designs: &[&Design]) -> [bool; 4] {
    let first = designs.first().map(|design| listed(design));
    let mut differs = [false; 4];
    for design in designs {
        for (at, spec) in listed(design).into_iter().enumerate() {
            differs[at] |= Some(spec) != first.map(|first| first[at]);
        }
    }
    differs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>> {
        #[derive(Deserialize)]
        struct File {
            design: Vec<Design>,
        }
        let file: File = toml::from_str(text).unwrap();
        Ok(crossed("e.toml", &file.design)?.into_iter().map(|design| design.name).collect())
    }

    #[test]
    fn lists_are_crossed_and_named_by_their_differences() {
        let cross = names("[[design]]\npolicy = ['clock', 'lru']\nswap = ['zram', 'nvm-direct']").unwrap();
        assert_eq!(cross, ["clock · zram", "clock · nvm-direct", "lru · zram", "lru · nvm-direct"]);
        assert_eq!(names("[[design]]\nswap = ['none', 'zram:size=64MiB']").unwrap(), ["none", "zram"]);
        let sizes = names("[[design]]\nswap = ['zram:size=64MiB', 'zram:size=1GiB']").unwrap();
        assert_eq!(sizes, ["zram:size=64MiB", "zram:size=1GiB"]);
        assert_eq!(names("[[design]]\nname = 'A2S'\nswap = 'flash'").unwrap(), ["A2S"]);
        assert_eq!(
            names("[[design]]\nname = 'x'\nswap = ['flash', 'zram']\n[[design]]\nname = 'y'").unwrap(),
            ["x · flash", "x · zram", "y"]
        );
        assert_eq!(names("[[design]]\npolicy = 'clock'").unwrap(), ["clock"]);
    }

    #[test]
    fn equal_designs_are_refused() {
        let error = |text| names(text).unwrap_err().to_string();
        assert_eq!(
            error("[[design]]\npolicy = ['lru', 'lru']"),
            "e.toml: two designs called 'lru'; expected designs that differ, or a name for each"
        );
        assert_eq!(
            error("[[design]]\nname = 'a'\n[[design]]\nname = 'a'\npolicy = 'lru'"),
            "e.toml: two designs called 'a'; expected designs that differ, or a name for each"
        );
        assert_eq!(error("[[design]]\nswap = []"), "e.toml: design 1: swap: an empty list; expected at least one value");
    }
}
