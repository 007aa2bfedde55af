//! Checks of the repository, run by `make lint`: dependencies between crates (ARCHITECTURE.md),
//! what `cargo test` leaves out, dependency cycles of modules, permitted `unsafe` code, lengths of
//! files, and sizes of structs. Prints every finding, and exits with 1 if there is one. Comments
//! and documents are checked by `tools/check_words.py`.

mod circles;
mod layers;
mod left_out;
mod machine;
mod sources;
mod structs;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/xtask is two folders below the root");
    let crates = root.join("crates");
    let findings: Vec<String> = [layers::check, left_out::check, circles::check, sources::check, machine::check, structs::check]
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
