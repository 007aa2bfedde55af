//! The example in C says that memory held what was written to it. Where the kernel lacks what the pager needs, or there is no C compiler, the
//! reason is printed and nothing is tested.

use std::path::Path;
use std::process::Command;

const SAID: &str = "sum right, swapped out, read in place\n";

#[test]
fn it_compiles_against_the_header_and_runs() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::temp_dir().join(format!("swaplab-region-{}", std::process::id()));
    let me = std::env::current_exe().unwrap();
    let built = me.parent().and_then(Path::parent).expect("cargo puts a test into target/PROFILE/deps");
    let library = ["libswaplab_region.a", "deps/libswaplab_region.a"].map(|name| built.join(name)).into_iter().find(|path| path.exists());
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here.join("include"))
        .arg(here.join("examples/region.c"))
        .arg(library.expect("cargo builds the static library for tests"))
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&target)
        .output();
    let Ok(compiled) = compiled else { return eprintln!("skipped: no C compiler") };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&target).output().unwrap();
    std::fs::remove_file(&target).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(3) => eprintln!("region.c skipped: {}", String::from_utf8_lossy(&output.stderr)),
        code => assert_eq!((code, &*said), (Some(0), SAID), "{}", String::from_utf8_lossy(&output.stderr)),
    }
}
