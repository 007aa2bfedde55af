//! Checks that nothing is left out of `cargo test`: a manifest turns off the build of a library's
//! tests (`test = false`) or the search for examples in its documentation (`doctest = false`) only
//! where there are none.

use crate::sources::{manifests, sources};
use std::path::Path;

/// Check the library of every crate; returns the findings.
pub fn check(crates: &Path) -> Vec<String> {
    let sources = sources(crates);
    let mut findings = Vec::new();
    for (name, manifest) in manifests(crates) {
        let library = Path::new("crates").join(name).join("src");
        for (place, text) in sources.iter().filter(|(place, _)| Path::new(place).starts_with(&library)) {
            findings.extend(of_text(&manifest, text).map(|finding| format!("{place}: {finding}")));
        }
    }
    findings
}

/// Name what a source file of a library has and its manifest turns off.
fn of_text(manifest: &toml::Table, text: &str) -> Option<&'static str> {
    let turns_off = |key: &str| manifest.get("lib").and_then(|lib| lib.get(key)?.as_bool()) == Some(false);
    let mut lines = text.lines().map(str::trim_start);
    let is_example = |line: &str| (line.starts_with("///") || line.starts_with("//!")) && line.contains("```");
    if turns_off("test") && lines.clone().any(|line| line == concat!("#[", "test]")) {
        Some("a test, which the crate's `test = false` leaves out")
    } else if turns_off("doctest") && lines.any(is_example) {
        Some("an example, which the crate's `doctest = false` leaves out")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_examples_are_found_where_the_manifest_leaves_them_out() {
        let (all, none): (toml::Table, toml::Table) =
            ("[lib]\ndoctest = true".parse().unwrap(), "[lib]\ntest = false\ndoctest = false".parse().unwrap());
        for text in [concat!("    #[", "test]\n    fn f() {}"), "/// ```\n/// f();\n/// ```\nfn f() {}", "//! ```no_run"] {
            assert!(of_text(&none, text).is_some(), "{text}");
            assert!(of_text(&all, text).is_none(), "{text}");
        }
        assert!(of_text(&none, "let fence = \"```\"; // no ``` of a comment").is_none());
    }
}
