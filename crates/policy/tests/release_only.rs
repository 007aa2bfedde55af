//! A policy can read the state of pages and release them, nothing else: each file in
//! `release_only/` attempts more and must not compile.

use std::process::Command;

/// The compiler version that produced the `.stderr` files; the text of messages differs between
/// versions.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn a_policy_that_does_more_than_release_does_not_compile() {
    let version = Command::new("rustc").arg("--version").output().expect("rustc, which has compiled this");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version.starts_with(COMPILER) {
        eprintln!("skipped: the expected messages are {COMPILER}x's, this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/release_only/*.rs");
}
