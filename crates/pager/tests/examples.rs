//! The example says that memory held what was written to it. Where the kernel lacks what the pager needs, the reason is printed and nothing is
//! tested.

use std::path::{Path, PathBuf};
use std::process::Command;

const SAID: &str = "sum right, swapped out, read in place\n";

/// Where cargo puts what it builds for this test: the folder above `deps`.
fn built() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    me.parent().and_then(Path::parent).unwrap().to_path_buf()
}

#[test]
fn the_rust_example_runs() {
    let example = built().join("examples/region");
    if !example.exists() {
        return eprintln!("region.rs skipped: `cargo test --test` alone does not build examples");
    }
    let output = Command::new(example).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(3) => eprintln!("region.rs skipped: {}", String::from_utf8_lossy(&output.stderr)),
        code => assert_eq!((code, &*said), (Some(0), SAID), "{}", String::from_utf8_lossy(&output.stderr)),
    }
}
