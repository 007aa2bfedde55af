//! No struct of state has more fields than a reader keeps in mind. Settings and documents have as
//! many as there are keys.

use super::sources::sources;
use std::path::Path;

const MAX_FIELDS: usize = 15;

/// File, struct and reason of each struct that may have more fields.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("crates/device/src/energy/ddr.rs", "Ddr", "settings: the values of a data sheet"),
    ("crates/experiment/src/apps/models.rs", "AppModels", "settings: keys of an experiment"),
    ("crates/experiment/src/document/row.rs", "Row", "a document: the columns of a result"),
    ("crates/experiment/src/machine.rs", "KernelSettings", "settings: keys of an experiment"),
    ("crates/experiment/src/run.rs", "VmRun", "settings: keys of an experiment"),
    ("crates/guest/src/plan.rs", "Plan", "a document: what the guest is to do"),
    ("crates/sim/src/phone/spec/phone.rs", "Phone", "settings: the phone of an experiment, converted to the units of the machine"),
    ("crates/trace/src/info.rs", "TraceInfo", "a document: what `trace info` shows"),
];

pub fn check(crates: &Path) -> Vec<String> {
    let mut findings = Vec::new();
    let mut excepted = Vec::new();
    for (place, text) in sources(crates) {
        for (name, fields) in large(&text) {
            match EXCEPTIONS.iter().find(|(file, exception, _)| (*file, *exception) == (place.as_str(), name.as_str())) {
                Some(exception) => excepted.push(exception),
                None => findings.push(format!("{place}: struct {name} has {fields} fields, at most {MAX_FIELDS}")),
            }
        }
    }
    let unused = EXCEPTIONS.iter().filter(|exception| !excepted.contains(exception));
    findings.extend(unused.map(|(file, name, _)| format!("{file}: struct {name} needs no exception in crates/xtask/src/structs.rs")));
    findings
}

/// The structs of a file with more fields than may be, and how many these are. Relies on the form
/// that rustfmt gives.
fn large(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let declared = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ").trim_start_matches("pub ");
        let Some(rest) = declared.strip_prefix("struct ").filter(|rest| !rest.contains(['(', ';', '}'])) else { continue };
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        // A where clause ends with a line that has only a brace.
        let start = format!("{}{{", " ".repeat(indent));
        if !rest.ends_with('{') && lines.by_ref().all(|line| line != start) {
            continue;
        }
        let end = format!("{}}}", " ".repeat(indent));
        let fields = lines.by_ref().take_while(|line| *line != end).filter(|line| is_field(line, indent + 4)).count();
        if fields > MAX_FIELDS {
            found.push((name.to_string(), fields));
        }
    }
    found
}

/// Whether a line begins a field at this indent: `name:`, with or without `pub`.
fn is_field(line: &str, indent: usize) -> bool {
    let Some(text) = line.get(indent..).filter(|_| line[..indent].trim().is_empty()) else { return false };
    let name = match text.strip_prefix("pub") {
        Some(public) if public.starts_with(['(', ' ']) => public.split_once(' ').map_or("", |(_, name)| name),
        _ => text,
    };
    name.split_once(':').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_and_comments_are_not() {
        let fields: String =
            (0..16).map(|i| format!("    /// note: text\n    #[serde(default)]\n    pub(super) f{i}: Map<u8, u8>,\n")).collect();
        assert_eq!(large(&format!("pub struct Big<T> {{\n{fields}}}\nstruct Small {{\n    a: u8,\n}}\n")), [("Big".to_string(), 16)]);
        let bounded = format!("struct Tuple<T>(T)\nwhere\n    T: Copy;\n\npub struct Big<T>\nwhere\n    T: Copy,\n{{\n{fields}}}\n");
        assert_eq!(large(&bounded), [("Big".to_string(), 16)]);
    }
}
