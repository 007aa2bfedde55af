//! Checks the dependencies between crates: a crate may only depend on the project's crates in its
//! row of the table.

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
    let mut folders: Vec<_> = std::fs::read_dir(crates).expect("crates/").map(|f| f.expect("an entry of crates/").path()).collect();
    folders.sort();
    for folder in folders.iter().filter(|f| f.join("Cargo.toml").is_file()) {
        let name = folder.file_name().expect("a folder's name").to_string_lossy().into_owned();
        let manifest: toml::Table =
            std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest").parse().expect("a manifest in TOML");
        findings.extend(of_crate(&name, &manifest));
    }
    findings
}

fn of_crate(name: &str, manifest: &toml::Table) -> Vec<String> {
    let Some((_, allowed)) = ALLOWED.iter().find(|(krate, _)| *krate == name) else {
        return vec![format!("crates/{name}: not in the table of layers (crates/xtask/src/layers.rs)")];
    };
    // Dependencies of tests are not restricted.
    let dependencies =
        ["dependencies", "build-dependencies"].into_iter().filter_map(|section| manifest.get(section)?.as_table()).flat_map(|t| t.keys());
    dependencies
        .filter_map(|key| key.strip_prefix("swaplab-"))
        .filter(|dependency| !allowed.contains(dependency))
        .map(|dependency| format!("crates/{name}/Cargo.toml: depends on '{dependency}'; allowed: {}", allowed.join(" ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, dependency: &str) -> Vec<String> {
        of_crate(name, &format!("[dependencies]\n{dependency} = \"1\"").parse().unwrap())
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
