//! Checks that the example reads back what it wrote. If the kernel lacks a requirement of the
//! pager, the test prints the reason and passes.

use rustix::process::{set_parent_process_death_signal, Signal};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXPECTED: &str = "sum right, swapped out, read in place\n";

/// The folder of cargo's build output for this test: the one above `deps`.
fn build_folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().to_path_buf()
}

#[test]
fn the_rust_example_runs() {
    let example = build_folder().join("examples/region");
    if !example.exists() {
        return eprintln!("region.rs skipped: `cargo test --test` alone does not build examples");
    }
    let mut command = Command::new(example);
    // SAFETY: the child makes one system call. An example that hangs would outlive a test that is
    // killed, and keep a processor busy.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) };
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(3) => eprintln!("region.rs skipped: {}", String::from_utf8_lossy(&output.stderr)),
        code => assert_eq!((code, &*stdout), (Some(0), EXPECTED), "{}", String::from_utf8_lossy(&output.stderr)),
    }
}
