//! Traces a program that accesses a known set of pages in a known order, by every method, and
//! checks that the trace has exactly these accesses.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use swaplab_capture_plugin::{record_lackey, record_ring, Label, Limits, Request, Ring, Shared};
use swaplab_trace::{Block, Mark, Range, Step, Trace};

const ARENA: u64 = 0x10_0000_0000 >> 12;

/// The accesses and mapping changes of touch.c in its arena: R, W by page; M map (A, F, S: class,
/// and the file's page), U unmap, D discard, V move.
const OWN: &str = "M0+8A W3 R0 R5 W0 W1 W2 U3+2 M4+1A W4 D0+1 R0 V4+1>12+2 W12 R13 M16+2F1 R17 W17 M18+1S0 R18 M20+10A";
const BUFFERS: &str = "W20 W21 R21 W28 R29";
const VECTORS: &str = "W22 W22 W23 W25 W26 R22 R23 R25 R26 W22 W23 W25 W26";
const END: &str = "U20+10";

struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
    file: PathBuf,
}

/// Compile touch.c by `compiler` and make a file for it; `None` if that compiler is not installed.
fn bench(compiler: &str) -> Option<Bench> {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("touch"), folder.path().join("file"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/touch.c");
    let compiled = Command::new(compiler).args(["-O1", "-o"]).arg(&program).arg(source).status();
    if compiled.is_err() {
        eprintln!("skipped: no {compiler}");
        return None;
    }
    assert!(compiled.unwrap().success());
    std::fs::File::create(&file).unwrap().write_all(&[1; 3 * 4096]).unwrap();
    Some(Bench { folder, program, file })
}

fn installed(tool: &str) -> bool {
    let starts = Command::new(tool).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !starts {
        eprintln!("skipped: no {tool}");
    }
    starts
}

impl Bench {
    fn request(&self, limits: Limits) -> Request {
        let output = self.folder.path().join("out.slt");
        Request { output, program: "touch".into(), limits, caches: None, root: None, provenance: Default::default() }
    }

    fn qemu(&self, arch: &str, root: Option<&str>, limits: Limits, label: Option<Label>) -> (ExitStatus, Trace) {
        let (ring, shared) = (Ring::create().unwrap(), Shared::default());
        label.into_iter().for_each(|l| shared.request_label(l, Some(&ring)));
        let plugin = std::env::current_exe().unwrap().with_file_name("libswaplab_capture_plugin.so");
        let mut command = Command::new(format!("qemu-{arch}"));
        command.args(root.iter().flat_map(|r| ["-L", r]));
        command.arg("-plugin").arg(format!("{},ring={},filter={}", plugin.display(), ring.path(), limits.filter));
        let mut child = command.arg(&self.program).arg(&self.file).spawn().unwrap();
        let status = std::thread::scope(|scope| {
            let recording = scope.spawn(|| record_ring(&ring, self.request(limits), &shared).unwrap());
            let status = child.wait().unwrap();
            shared.program_ended(false);
            assert_eq!(recording.join().unwrap().cut, None);
            status
        });
        (status, Trace::open(&self.folder.path().join("out.slt")).unwrap())
    }

    fn lackey(&self) -> (ExitStatus, Trace) {
        let shared = Shared::default();
        // The log goes to standard error, which the program does not use.
        let mut child = Command::new("valgrind")
            .args(["--tool=lackey", "--basic-counts=no", "--trace-mem=yes", "--trace-syscalls=yes", "--log-fd=2"])
            .arg(&self.program)
            .arg(&self.file)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let text = child.stderr.take().unwrap();
        let status = std::thread::scope(|scope| {
            let recording = scope.spawn(|| record_lackey(text, pid, self.request(Limits::default()), &shared).unwrap());
            let status = child.wait().unwrap();
            shared.program_ended(false);
            assert_eq!(recording.join().unwrap().cut, None);
            status
        });
        (status, Trace::open(&self.folder.path().join("out.slt")).unwrap())
    }
}

/// The steps of a trace that are in the arena, in the notation above.
fn steps_in_arena(trace: &Trace) -> String {
    let numbers = &trace.page_table().unwrap().numbers;
    let mut out = Vec::new();
    let inside = |number: u64| number.checked_sub(ARENA).filter(|page| *page < 64);
    let span = |range: &Range| inside(range.first).map(|page| format!("{page}+{}", range.pages));
    let mut block = Block::default();
    for number in 0..trace.blocks() {
        trace.read_block(number, &mut block).unwrap();
        for step in block.steps() {
            match step {
                Step::Accesses(run) => {
                    out.extend(run.iter().filter_map(|a| Some(format!("{}{}", a.op().letter(), inside(numbers[a.page() as usize])?))));
                }
                Step::Mark(Mark::Map { range, class, file, offset }) => {
                    assert_eq!(*file != 0, *class != swaplab_vocab::Class::Anonymous);
                    if *file != 0 && span(range).is_some() {
                        assert!(trace.meta.files[*file as usize].ends_with("/file"), "{:?}", trace.meta.files);
                    }
                    let class = ["A".into(), format!("F{offset}"), format!("S{offset}")][*class as usize].clone();
                    out.extend(span(range).map(|s| format!("M{s}{class}")));
                }
                Step::Mark(Mark::Unmap(range)) => out.extend(span(range).map(|s| format!("U{s}"))),
                Step::Mark(Mark::Discard(range)) => out.extend(span(range).map(|s| format!("D{s}"))),
                Step::Mark(Mark::Remap { from, to }) => out.extend(span(from).map(|s| format!("V{s}>{}", span(to).unwrap_or_default()))),
                Step::Mark(Mark::Launch { .. }) => out.push("launch".into()),
                Step::Mark(_) => {}
            }
        }
    }
    out.join(" ")
}

#[test]
fn qemu_records_exactly_what_the_program_does() {
    let Some(bench) = bench("cc") else { return };
    if installed("qemu-x86_64") {
        let (status, trace) = bench.qemu("x86_64", None, Limits::default(), Some(Label::Launch));
        assert_eq!(status.code(), Some(7));
        assert_eq!(steps_in_arena(&trace), format!("launch {OWN} {BUFFERS} {VECTORS} {END}"));
    }
}

#[test]
fn qemu_records_exactly_what_an_arm64_program_does() {
    let Some(bench) = bench("aarch64-linux-gnu-gcc") else { return };
    if installed("qemu-aarch64") {
        let (status, trace) = bench.qemu("aarch64", Some("/usr/aarch64-linux-gnu"), Limits::default(), None);
        assert_eq!(status.code(), Some(7));
        assert_eq!(steps_in_arena(&trace), format!("{OWN} {BUFFERS} {VECTORS} {END}"));
    }
}

#[test]
fn lackey_records_everything_but_vectored_io() {
    let Some(bench) = bench("cc") else { return };
    if installed("valgrind") {
        let (status, trace) = bench.lackey();
        assert_eq!(status.code(), Some(7));
        assert_eq!(steps_in_arena(&trace), format!("{OWN} {BUFFERS} {END}"));
    }
}

/// The filter may drop repeated accesses, but not a first access, a first write, or the first
/// access after an unmapping.
#[test]
fn a_filter_keeps_first_accesses_and_first_writes() {
    let Some(bench) = bench("cc") else { return };
    if installed("qemu-x86_64") {
        let (_, trace) = bench.qemu("x86_64", None, Limits { filter: 64, ..Limits::default() }, None);
        let kernel = "W20 W21 W28 R29 W22 W23 W25 W26";
        assert_eq!(steps_in_arena(&trace), format!("{OWN} {kernel} {END}"));
    }
}
