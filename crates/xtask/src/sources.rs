//! Checks rules for every source file.

use std::path::{Path, PathBuf};

/// Crates that may have `unsafe` code, each block with its SAFETY reason.
const UNSAFE_CRATES: &[&str] =
    &["pager", "preload", "capture", "plugin", "plugin-host", "py", "vocab", "app-sim", "guest", "region", "still-clock"];
/// Largest number of lines of a file. A longer file should be split.
const MAX_LINES: usize = 350;

/// Check every Rust file; returns the findings.
pub fn check(crates: &Path) -> Vec<String> {
    let mut files = Vec::new();
    collect(crates, &mut files);
    files.sort();
    files.iter().flat_map(|file| of_file(crates, file)).collect()
}

/// The folder's name and the manifest of every crate.
pub fn manifests(crates: &Path) -> Vec<(String, toml::Table)> {
    let mut folders: Vec<_> = std::fs::read_dir(crates).expect("crates/").map(|entry| entry.expect("an entry of crates/").path()).collect();
    folders.sort();
    let read = |folder: &PathBuf| {
        let name = folder.file_name().expect("a folder's name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        (name, text.parse().expect("a manifest in TOML"))
    };
    folders.iter().filter(|folder| folder.join("Cargo.toml").is_file()).map(read).collect()
}

/// The place and text of every source file.
pub fn sources(crates: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    collect(crates, &mut files);
    files.sort();
    let place = |file: &Path| Path::new("crates").join(file.strip_prefix(crates).expect("a file below crates/")).display().to_string();
    files.iter().map(|file| (place(file), std::fs::read_to_string(file).expect("a source file"))).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

fn of_file(crates: &Path, file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("a source file");
    let place = Path::new("crates").join(file.strip_prefix(crates).expect("a file below crates/"));
    let krate = file.strip_prefix(crates).ok().and_then(|f| f.iter().next()).map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut findings: Vec<String> =
        of_text(&text, UNSAFE_CRATES.contains(&krate.as_str())).into_iter().map(|f| format!("{}: {f}", place.display())).collect();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        findings.push(format!("{}: {lines} lines, at most {MAX_LINES}", place.display()));
    }
    findings
}

/// Find unsafe blocks and implementations that are outside the permitted crates, or without a
/// reason in the comment above.
fn of_text(text: &str, may_be_unsafe: bool) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let opens =
        |line: &str, word: &str| line.match_indices(word).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    let is_unsafe =
        |line: &str| !line.starts_with("//") && [concat!("unsafe", " {"), concat!("unsafe", " impl")].into_iter().any(|w| opens(line, w));
    let mut findings = Vec::new();
    for (i, _) in lines.iter().enumerate().filter(|(_, l)| is_unsafe(l)) {
        if !may_be_unsafe {
            findings.push(format!("line {}: unsafe code outside {}", i + 1, UNSAFE_CRATES.join(", ")));
        } else if !lines[..i].iter().rev().take(12).take_while(|l| !l.is_empty()).any(|l| l.contains("SAFETY:"))
            && !lines[i].contains("SAFETY:")
        {
            findings.push(format!("line {}: unsafe without its SAFETY reason above", i + 1));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_needs_a_permitted_crate_and_a_reason() {
        let bare = concat!("fn f() {\n    unsafe", " { g() }\n}");
        let reasoned = concat!("fn f() {\n    // SAFETY: g needs nothing.\n    unsafe", " { g() }\n}");
        assert_eq!(of_text(bare, true), ["line 2: unsafe without its SAFETY reason above"]);
        assert_eq!(of_text(reasoned, true).len(), 0);
        assert_eq!(of_text(reasoned, false).len(), 1);
    }
}
