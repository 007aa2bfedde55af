//! Checks that the example in C reads back what it wrote. If the kernel lacks a requirement of the
//! pager, or there is no C compiler, the test prints the reason and passes.

use std::path::Path;
use std::process::Command;

const EXPECTED: &str = "sum right, swapped out, read in place\n";

#[test]
fn the_c_example_compiles_against_the_header_and_runs() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::temp_dir().join(format!("swaplab-region-{}", std::process::id()));
    let test = std::env::current_exe().unwrap();
    let build_folder = test.parent().and_then(Path::parent).expect("cargo puts a test into target/PROFILE/deps");
    let library =
        ["libswaplab_region.a", "deps/libswaplab_region.a"].map(|name| build_folder.join(name)).into_iter().find(|path| path.exists());
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(crate_folder.join("include"))
        .arg(crate_folder.join("examples/region.c"))
        .arg(library.expect("cargo builds the static library for tests"))
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&target)
        .output();
    let Ok(compiled) = compiled else { return eprintln!("skipped: no C compiler") };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&target).output().unwrap();
    std::fs::remove_file(&target).unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(3) => eprintln!("region.c skipped: {}", String::from_utf8_lossy(&output.stderr)),
        code => assert_eq!((code, &*stdout), (Some(0), EXPECTED), "{}", String::from_utf8_lossy(&output.stderr)),
    }
}
