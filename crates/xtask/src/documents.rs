//! Checks rules for documents: papers are cited by author and year, no link is dead, every decision record is in the index.

use std::path::{Path, PathBuf};

/// Citations of papers that a reader outside the project cannot follow.
const PRIVATE_CITATIONS: &[&str] = &[concat!("papers", "/00"), concat!("READING", " 0"), concat!("READING", ".md")];
/// Folders whose files are checked.
const CHECKED: &[&str] = &["crates", "data", "docs", "kernel", "papers", "python", "tests/python/models", "tools"];

/// Check the files of `CHECKED` and the documents in the root folder; returns the findings.
pub fn check(crates: &Path) -> Vec<String> {
    let root = crates.parent().expect("crates/ is in the repository");
    let mut files = Vec::new();
    CHECKED.iter().for_each(|folder| collect(&root.join(folder), &mut files));
    for entry in std::fs::read_dir(root).expect("the repository").flatten() {
        if entry.path().extension().is_some_and(|e| e == "md") {
            files.push(entry.path());
        }
    }
    files.sort();
    let index = std::fs::read_to_string(root.join("docs/decisions/README.md")).unwrap_or_default();
    let mut findings = Vec::new();
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let place = file.strip_prefix(root).expect("a file of the repository");
        findings.extend(private_citations(&text).into_iter().map(|f| format!("{}:{f}", place.display())));
        if file.extension().is_some_and(|e| e == "md") {
            let folder = file.parent().expect("a file is in a folder");
            findings
                .extend(dead_links(&text, |target| folder.join(target).exists()).into_iter().map(|f| format!("{}:{f}", place.display())));
            let name = place.file_name().expect("a file has a name").to_string_lossy();
            if place.starts_with("docs/decisions") && name != "README.md" && !index.contains(&format!("({name})")) {
                findings.push(format!("{}: not in docs/decisions/README.md", place.display()));
            }
        }
    }
    findings
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with("__pycache__") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|e| ["rs", "py", "md", "toml", "c", "h"].iter().any(|known| e == *known)) {
            files.push(path);
        }
    }
}

fn private_citations(text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let cites = |line: &str| PRIVATE_CITATIONS.iter().find(|word| line.contains(**word));
    lines.filter_map(|(i, line)| cites(line).map(|word| format!("{}: cites '{word}'; expected author, year, section", i + 1))).collect()
}

/// Find relative links whose file is missing. Pages in `reference/` are generated when the site is built.
fn dead_links(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    let mut code = false;
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if code {
            continue;
        }
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', '#', ' ']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.contains("reference/") && !exists(target) {
                findings.push(format!("{}: dead link '{target}'", i + 1));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_by_a_private_number_is_reported() {
        let text = concat!("one\nas in papers", "/004, Section 4");
        assert_eq!(private_citations(text), [concat!("2: cites 'papers", "/00'; expected author, year, section")]);
        assert_eq!(private_citations("Kim et al. 2017, Section 4; papers/a2s").len(), 0);
    }

    #[test]
    fn a_dead_link_outside_code_is_reported() {
        let text = "[a](there.md) [b](gone.md#x) [c](https://x.org) [d](#here)\n```\n[e](gone.md)\n```";
        assert_eq!(dead_links(text, |target| target == "there.md"), ["1: dead link 'gone.md'"]);
    }
}
