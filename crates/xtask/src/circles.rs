//! Finds dependency cycles among the modules of a crate. Modules that use each other, directly or
//! through others, cannot be read or changed separately.
//!
//! Only a module's own code counts. A re-export (`pub use`) is not a use: a path through it is
//! resolved to the module that defines the item. Tests may use everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module, as its path from the crate's root.
type Module = Vec<String>;

/// Check every crate; returns the findings.
pub fn check(crates: &Path) -> Vec<String> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(crates).expect("crates/").map(|f| f.expect("an entry").path()).collect();
    folders.sort();
    let sources = folders.iter().map(|folder| (folder, folder.join("src"))).filter(|(_, source)| source.is_dir());
    sources
        .flat_map(|(folder, source)| {
            let mut modules = BTreeMap::new();
            collect(&source, &mut Vec::new(), &mut modules);
            let name = folder.file_name().expect("a folder's name").to_string_lossy().into_owned();
            find_cycles(&modules).into_iter().map(move |cycle| format!("crates/{name}: modules that use one another: {cycle}"))
        })
        .collect()
}

/// Collect the code of every module below `folder`, without its tests.
fn collect(folder: &Path, at: &mut Module, modules: &mut BTreeMap<Module, String>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).expect("a folder of sources").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if stem == "tests" {
            continue;
        }
        if path.is_dir() {
            at.push(stem);
            collect(&path, at, modules);
            at.pop();
        } else if path.extension().is_some_and(|e| e == "rs") {
            let mut module = at.clone();
            if !["lib", "main", "mod"].contains(&stem.as_str()) {
                module.push(stem);
            }
            modules.insert(module, code(&std::fs::read_to_string(&path).expect("a source file")));
        }
    }
}

/// A file's code without comments, strings and the tests at its end.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let tests = line.trim() == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'));
        if tests {
            break;
        }
        let before_comment = line.split("//").next().unwrap_or_default();
        let outside_texts = before_comment.split('"').step_by(2).collect::<Vec<_>>().join("\"\"");
        code.push_str(&outside_texts);
        code.push('\n');
    }
    code
}

/// The paths that the code uses, each with whether it is a re-export: paths of `use` statements,
/// and other paths that start with `crate::`, `super::` or `self::`.
fn paths(code: &str) -> Vec<(Vec<String>, bool)> {
    let mut paths = Vec::new();
    let mut rest = String::new();
    let mut statement: Option<(String, bool)> = None;
    for line in code.lines() {
        let trimmed = line.trim();
        if statement.is_none() {
            let public =
                trimmed.starts_with("pub use ") || trimmed.starts_with("pub(crate) use ") || trimmed.starts_with("pub(super) use ");
            match trimmed.split_once("use ").filter(|(before, _)| before.is_empty() || public) {
                Some((_, tree)) => statement = Some((tree.to_string(), public)),
                None => {
                    rest.push_str(line);
                    rest.push('\n');
                    continue;
                }
            }
        } else if let Some((tree, _)) = &mut statement {
            tree.push_str(trimmed);
        }
        if trimmed.ends_with(';') {
            let (tree, public) = statement.take().expect("a statement");
            expand(&mut Vec::new(), tree.trim_end_matches(';'), &mut |path| paths.push((path, public)));
        }
    }
    for (at, _) in rest.match_indices("::") {
        let start = rest[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |before| before + 1);
        if ["crate", "super", "self"].contains(&&rest[start..at]) {
            let end = rest[at..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').map_or(rest.len(), |after| at + after);
            paths.push((rest[start..end].split("::").filter(|part| !part.is_empty()).map(String::from).collect(), false));
        }
    }
    paths
}

/// Call `each` with every path of a `use` tree such as `a::{b, c::{d, e as f}}`.
fn expand(prefix: &mut Vec<String>, tree: &str, each: &mut impl FnMut(Vec<String>)) {
    let tree = tree.trim();
    let Some(brace) = tree.find('{') else {
        let plain = tree.split(" as ").next().unwrap_or_default();
        let path = prefix.iter().cloned().chain(plain.split("::").map(|part| part.trim().to_string()));
        return each(path.filter(|part| !part.is_empty()).collect());
    };
    let depth = prefix.len();
    prefix.extend(tree[..brace].split("::").map(|part| part.trim().to_string()).filter(|part| !part.is_empty()));
    let inner = &tree[brace + 1..tree.rfind('}').unwrap_or(tree.len())];
    let (mut open, mut start) = (0, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            ',' if open == 0 => {
                if !inner[start..at].trim().is_empty() {
                    expand(prefix, &inner[start..at], each);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    prefix.truncate(depth);
}

/// The module at which a path in `from` begins, and the names after it. `None` if the path is
/// outside of the crate.
fn begin(from: &Module, path: &[String], modules: &BTreeMap<Module, String>) -> Option<(Module, Vec<String>)> {
    let mut at = from.clone();
    let mut names = path.iter().peekable();
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            names.next();
        }
        "self" => {
            names.next();
        }
        "super" => {
            while names.next_if(|name| *name == "super").is_some() {
                at.pop();
            }
        }
        // A child module, or another crate.
        child => {
            at.push(child.to_string());
            if !modules.keys().any(|module| module.starts_with(&at)) {
                return None;
            }
            at.pop();
        }
    }
    Some((at, names.cloned().collect()))
}

/// The module that defines the item of a path in `from`.
fn resolve(from: &Module, path: &[String], modules: &BTreeMap<Module, String>, exports: &Exports, depth: usize) -> Option<Module> {
    let (mut at, names) = begin(from, path, modules)?;
    for (number, name) in names.iter().enumerate() {
        at.push(name.clone());
        if modules.keys().any(|module| module.starts_with(&at)) {
            continue;
        }
        at.pop();
        return match exports.get(&(at.clone(), name.clone())) {
            Some(target) if depth < 16 => {
                let full_path: Vec<String> = target.iter().cloned().chain(names[number + 1..].iter().cloned()).collect();
                resolve(&at, &full_path, modules, exports, depth + 1).or(Some(at))
            }
            _ => Some(at),
        };
    }
    Some(at)
}

/// Re-exports: from a module and a name in it to the path as written there.
type Exports = BTreeMap<(Module, String), Vec<String>>;

/// Find every cycle, as the names of its modules.
fn find_cycles(modules: &BTreeMap<Module, String>) -> Vec<String> {
    let mut exports = Exports::new();
    for (module, code) in modules {
        for (path, _) in paths(code).into_iter().filter(|(_, public)| *public) {
            if let Some(name) = path.last() {
                exports.insert((module.clone(), name.clone()), path.clone());
            }
        }
    }
    let mut uses: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for (module, code) in modules {
        for (path, _) in paths(code).into_iter().filter(|(_, public)| !*public) {
            let target = resolve(module, &path, modules, &exports, 0);
            if let Some((target, _)) = target.and_then(|target| modules.get_key_value(&target)) {
                uses.entry(module).or_default().insert(target);
            }
        }
    }
    let reach = |from: &Module| -> BTreeSet<Module> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = open.pop() {
            for next in uses.get(&module).into_iter().flatten().filter(|next| **next != &module) {
                if seen.insert((*next).clone()) {
                    open.push((*next).clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = modules.keys().map(|module| (module, reach(module))).collect();
    let mut cycles = BTreeSet::new();
    for (module, seen) in reached.iter().filter(|(module, seen)| seen.contains(**module)) {
        let members: BTreeSet<&Module> = seen.iter().filter(|other| reached[other].contains(*module)).collect();
        let name = |module: &Module| if module.is_empty() { "the crate's root".into() } else { module.join("::") };
        cycles.insert(members.into_iter().map(name).collect::<Vec<String>>().join(", "));
    }
    cycles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
        let module = |path: &str| path.split("::").filter(|part| !part.is_empty()).map(String::from).collect();
        find_cycles(&files.iter().map(|(path, text)| (module(path), code(text))).collect())
    }

    #[test]
    fn cycles_are_found_through_any_kind_of_path() {
        let two_modules =
            [("", "mod a;\nmod b;"), ("a", "use super::b::B;\npub struct A;"), ("b", "fn f() { crate::a::g() }\npub struct B;")];
        assert_eq!(cycles_of(&two_modules), ["a, b"]);
        let three_modules = [
            ("", ""),
            ("a", "use crate::{b, std::X};"),
            ("b", "use crate::c::{\n    deep::{D, E as F},\n};"),
            ("c::deep", "use super::super::a::A;"),
        ];
        assert_eq!(cycles_of(&three_modules), ["a, b, c::deep"]);
        // A parent that uses an item of its child depends on the child.
        let parent = [("m", "mod child;\nuse child::help;"), ("m::child", "use super::Machine;")];
        assert_eq!(cycles_of(&parent), ["m, m::child"]);
    }

    #[test]
    fn a_re_export_is_not_a_use() {
        // The root re-exports items of its modules; a path through it is resolved to their modules.
        let facade = [("", "mod a;\nmod b;\npub use a::A;\npub use b::{B, C as D};"), ("a", "use crate::B;"), ("b", "pub struct B;")];
        assert!(cycles_of(&facade).is_empty(), "{:?}", cycles_of(&facade));
        let through = [("", "pub use a::A;\npub use b::B;"), ("a", "use crate::B;"), ("b", "use crate::A;")];
        assert_eq!(cycles_of(&through), ["a, b"]);
        // The children use a trait of the parent, and a registry uses the children.
        let registry = [("", "pub trait T {}\npub use registry::R;"), ("a", "use crate::T;"), ("registry", "use super::a;\nuse super::T;")];
        assert!(cycles_of(&registry).is_empty());
    }

    #[test]
    fn tests_comments_and_strings_are_ignored() {
        let quiet = [
            ("a", "use crate::b;"),
            ("b", "// use crate::a;\nconst X: &str = \"crate::a\";\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}"),
        ];
        assert!(cycles_of(&quiet).is_empty());
    }
}
