//! The examples in Rust and in C say that memory held what was written to it. Where the kernel lacks what the pager needs, or there
//! is no C compiler, the reason is printed and nothing is tested.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SAID: &str = "sum right, swapped out, read in place\n";

/// Where cargo puts what it builds for this test: the folder above `deps`.
fn built() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    me.parent().and_then(Path::parent).unwrap().to_path_buf()
}

fn check(name: &str, output: Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(3) => eprintln!("{name} skipped: {}", String::from_utf8_lossy(&output.stderr)),
        code => assert_eq!((code, &*said), (Some(0), SAID), "{name}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[test]
fn the_rust_example_runs() {
    let example = built().join("examples/region");
    if !example.exists() {
        return eprintln!("region.rs skipped: `cargo test --test` alone does not build examples");
    }
    check("region.rs", Command::new(example).output().unwrap());
}

#[test]
fn the_c_example_compiles_against_the_header_and_runs() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::temp_dir().join(format!("swaplab-region-{}", std::process::id()));
    let library = [built().join("libswaplab_pager.a"), built().join("deps/libswaplab_pager.a")].into_iter().find(|p| p.exists());
    let library = library.expect("cargo builds the static library for tests");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here.join("include"))
        .arg(here.join("examples/region.c"))
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&target)
        .output();
    let Ok(compiled) = compiled else { return eprintln!("skipped: no C compiler") };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&target).output().unwrap();
    std::fs::remove_file(&target).unwrap();
    check("region.c", output);
}
