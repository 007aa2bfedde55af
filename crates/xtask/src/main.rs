//! Checks of the repository, run by `make lint`: who may depend on whom (ARCHITECTURE.md), that no modules use one another in a circle,
//! where `unsafe` may stand, how long a file and how large a struct may be, and that documents cite and link what a reader can find. Prints every finding and exits with 1 if there is one.

mod circles;
mod documents;
mod layers;
mod sources;
mod structs;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/xtask lies two folders below the root");
    let crates = root.join("crates");
    let findings: Vec<String> = [layers::check, circles::check, sources::check, structs::check, documents::check]
        .into_iter()
        .flat_map(|check| check(&crates))
        .collect();
    for finding in &findings {
        eprintln!("{finding}");
    }
    if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
