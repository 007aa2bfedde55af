//! A mechanism of the simulated phone takes the parts that it needs, never the whole machine.

use super::sources::sources;
use std::path::Path;

const FOLDER: &str = "crates/sim/src/phone/machine/";
/// The files that may name `Machine`: its parts and what needs several of them, its construction,
/// and the references of the running task.
const MAY: [&str; 3] = ["mod.rs", "build.rs", "reference.rs"];

pub fn check(crates: &Path) -> Vec<String> {
    let mechanisms = sources(crates).into_iter().filter_map(|(place, text)| Some((place.strip_prefix(FOLDER)?.to_string(), text)));
    mechanisms.filter_map(|(file, text)| of_file(&file, &text)).collect()
}

fn of_file(file: &str, text: &str) -> Option<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|word| word == "Machine");
    (names && !MAY.contains(&file)).then(|| format!("{FOLDER}{file}: names Machine; a mechanism takes the parts that it needs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mechanism_with_the_whole_machine_is_found() {
        assert!(of_file("kill.rs", "use super::Machine;").is_some());
        assert_eq!([of_file("mod.rs", "struct Machine;"), of_file("kill.rs", "// Machine\nfn of(machine: u8) {}")], [None, None]);
    }
}
