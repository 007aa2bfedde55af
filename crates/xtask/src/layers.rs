//! Checks the dependencies between crates: a crate may only depend on the project's crates in its
//! row of the table.

use crate::sources::manifests;
use std::path::Path;

/// Crate folder, and the crates it may depend on. Models never depend on an engine; `sim` and
/// `pager` do not depend on each other; only `py` depends on Python.
const ALLOWED: &[(&str, &[&str])] = &[
    ("vocab", &[]),
    ("trace", &["vocab"]),
    ("policy", &["vocab"]),
    ("plugin", &[]),
    ("plugin-host", &["vocab", "policy", "plugin"]),
    ("device", &["vocab"]),
    ("apps", &["vocab"]),
    ("swap", &["vocab", "policy", "device"]),
    ("experiment", &["vocab", "trace", "policy", "swap", "device", "apps"]),
    ("sim", &["vocab", "trace", "policy", "swap", "device", "apps", "experiment"]),
    ("pager", &["vocab", "policy", "swap", "device"]),
    ("preload", &["vocab", "policy", "swap", "device", "pager"]),
    ("region", &["pager"]),
    ("capture", &["vocab", "trace"]),
    ("capture-plugin", &["capture"]),
    ("py", &["vocab", "trace", "policy", "swap", "device", "apps", "experiment", "sim", "pager", "capture", "plugin-host"]),
    ("app-sim", &["vocab"]),
    ("guest", &["vocab", "apps", "app"]), // package swaplab-app, in folder app-sim
    ("still-clock", &[]),
    ("fuzz-targets", &["vocab", "trace", "policy", "device", "swap", "experiment", "sim", "capture"]),
    ("xtask", &[]),
];

/// Check the manifest of every crate; returns the findings.
pub fn check(crates: &Path) -> Vec<String> {
    let mut findings = Vec::new();
    let root: toml::Table =
        std::fs::read_to_string(crates.join("../Cargo.toml")).expect("the root's manifest").parse().expect("a manifest in TOML");
    let shared = root.get("workspace").and_then(|workspace| workspace.get("dependencies")?.as_table()).cloned().unwrap_or_default();
    for (name, manifest) in manifests(crates) {
        findings.extend(of_crate(&name, &manifest, &shared));
    }
    findings
}

/// Check the manifest of the crate in folder `name`. `shared` are the workspace's dependencies.
fn of_crate(name: &str, manifest: &toml::Table, shared: &toml::Table) -> Vec<String> {
    let Some((_, allowed)) = ALLOWED.iter().find(|(krate, _)| *krate == name) else {
        return vec![format!("crates/{name}: not in the table of layers (crates/xtask/src/layers.rs)")];
    };
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(|targets| targets.values());
    let places = std::iter::once(manifest).chain(targets.filter_map(toml::Value::as_table));
    places
        .flat_map(|place| {
            // Dependencies of tests are not restricted.
            ["dependencies", "build-dependencies"].into_iter().filter_map(|section| place.get(section)?.as_table()).flatten()
        })
        .map(|(key, dependency)| package(key, dependency, shared))
        .filter_map(|package| package.strip_prefix("swaplab-"))
        .filter(|dependency| !allowed.contains(dependency))
        .map(|dependency| format!("crates/{name}/Cargo.toml: depends on '{dependency}'; allowed: {}", allowed.join(" ")))
        .collect()
}

/// The package of a dependency: its key, unless the dependency is renamed here or in the workspace.
fn package<'a>(key: &'a str, dependency: &'a toml::Value, shared: &'a toml::Table) -> &'a str {
    let renamed = |dependency: &'a toml::Value| dependency.get("package")?.as_str();
    let of_workspace = dependency.get("workspace").and_then(|_| shared.get(key));
    renamed(dependency).or_else(|| renamed(of_workspace?)).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, dependency: &str) -> Vec<String> {
        of_manifest(name, &format!("[dependencies]\n{dependency} = \"1\""))
    }

    fn of_manifest(name: &str, manifest: &str) -> Vec<String> {
        let shared = "swaplab-sim = { path = \"crates/sim\" }\nengine = { package = \"swaplab-sim\", path = \"crates/sim\" }";
        of_crate(name, &manifest.parse().unwrap(), &shared.parse().unwrap())
    }

    #[test]
    fn renamed_dependencies_and_those_of_one_target_are_found() {
        let finding = ["crates/policy/Cargo.toml: depends on 'sim'; allowed: vocab"];
        for manifest in [
            "[dependencies]\nswaplab-sim.workspace = true",
            "[dependencies]\nengine.workspace = true",
            "[dependencies]\ns = { package = \"swaplab-sim\", path = \"../sim\" }",
            "[build-dependencies]\nswaplab-sim.workspace = true",
            "[target.'cfg(unix)'.dependencies]\nswaplab-sim.workspace = true",
            "[target.x86_64-unknown-linux-gnu.build-dependencies]\nengine.workspace = true",
        ] {
            assert_eq!(of_manifest("policy", manifest), finding, "{manifest}");
        }
        assert!(of_manifest("policy", "[target.'cfg(unix)'.dev-dependencies]\nswaplab-sim.workspace = true").is_empty());
    }

    #[test]
    fn only_forbidden_dependencies_are_reported() {
        assert_eq!(findings("policy", "swaplab-sim"), ["crates/policy/Cargo.toml: depends on 'sim'; allowed: vocab"]);
        assert_eq!(findings("pager", "swaplab-sim").len(), 1);
        assert_eq!(findings("sim", "swaplab-pager").len(), 1);
        assert_eq!(findings("sim", "swaplab-policy").len(), 0);
        assert_eq!(findings("sim", "serde").len(), 0);
        assert_eq!(findings("stranger", "serde").len(), 1);
    }
}
