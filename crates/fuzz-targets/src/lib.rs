//! The fuzz targets. Each takes any bytes and must end in bounded time and memory, without a panic.
//! It may refuse its input with an error of one line. `fuzz/` wraps each target for cargo-fuzz;
//! `tests/corpora.rs` runs each on its corpus with `cargo test`.

pub mod frames;
mod import;
mod lists;
mod text;
mod trace;

use swaplab_vocab::{BadInput, Result};

/// A target's name, which its cargo-fuzz binary and its folder in `fuzz/corpus` also have, and its
/// function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets: the trace reader, importers of files, parsers of texts, and the lists that policies
/// use.
pub const TARGETS: &[Target] = &[
    ("trace", trace::bytes),
    ("trace_frames", frames::frames),
    ("import_csv", |data| import::file("csv", data)),
    ("import_launches", |data| import::file("launches", data)),
    ("import_pgcsv", |data| import::file("pgcsv", data)),
    ("import_oslab", |data| import::file("oslab", data)),
    ("import_lackey", |data| import::file("lackey", data)),
    ("import_block_csv", |data| import::file("block-csv", data)),
    ("import_ftrace_block", |data| import::file("ftrace-block", data)),
    ("import_damon", |data| import::file("damon", data)),
    ("import_perfetto", |data| import::file("perfetto", data)),
    ("import_memory_samples", |data| import::file("memory-samples", data)),
    ("import_oracle_general", |data| import::file("oracle-general", data)),
    ("import_detect", import::detected),
    ("capture_lackey", import::captured),
    ("experiment", text::experiment),
    ("document", text::document),
    ("device", text::device),
    ("specs", text::specs),
    ("lists", lists::lists),
];

/// Run one target by name.
///
/// # Panics
/// Panics if no target has this name, or if the target has found a defect of swaplab.
pub fn run(name: &str, data: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no target '{name}'"));
    target(data);
}

/// The value of a success. Checks that the message of an error is one line.
fn accepted<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            let message = error.to_string();
            assert!(!message.contains('\n'), "an error of several lines: {message:?}");
            assert!(!matches!(error, BadInput::Interrupted { .. }), "an interruption that nobody requested: {message}");
            None
        }
    }
}

/// A progress listener that never interrupts.
fn quiet(_: u64, _: u64) -> bool {
    true
}

/// The unread rest of a fuzzer's input. After its end, zeros are read.
struct Draw<'a>(&'a [u8]);

impl<'a> Draw<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        head
    }
}
