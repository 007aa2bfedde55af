//! Export of a trace to other formats. The Python side makes `parquet` from `csv` with polars.

mod csv;
mod oracle_general;
pub mod perfetto;
mod series;
pub use oracle_general::next_uses;

use crate::replace::Replacement;
use crate::slt::Trace;
use crate::source::Progress;
use std::io::{BufWriter, Write};
use std::path::Path;
use swaplab_vocab::{unknown_key, BadInput, Result};

type Export = fn(&Trace, &mut Output, Progress) -> Result<()>;

/// Formats that can be written.
pub const FORMATS: &[(&str, Export)] = &[("csv", csv::export), ("oracle-general", oracle_general::export), ("series", series::export)];

/// The target of an export, which errors name.
pub struct Output {
    out: Box<dyn Write>,
    place: String,
}

impl Output {
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| BadInput::io(&self.place, e))
    }
}

/// Write `trace` to `path` as `format`: compressed if the name ends in `.zst`, to standard output
/// if it is `-`.
pub fn convert(trace: &Trace, format: &str, path: &Path, progress: Progress) -> Result<()> {
    let export = FORMATS
        .iter()
        .find(|(key, _)| *key == format)
        .ok_or_else(|| unknown_key("format", "format", format, FORMATS.iter().map(|(key, _)| *key)))?
        .1;
    let place = swaplab_vocab::path_for_message(path);
    if path == Path::new("-") {
        let mut output = Output { out: Box::new(BufWriter::with_capacity(1 << 20, std::io::stdout())), place };
        export(trace, &mut output, progress)?;
        return output.out.flush().map_err(|e| BadInput::io(output.place, e));
    }
    let io = |e| BadInput::io(&place, e);
    let to = Replacement::of(path).map_err(io)?;
    let file = to.file.reopen().map_err(io)?;
    let out: Box<dyn Write> = if path.extension().is_some_and(|e| e == "zst") {
        Box::new(zstd::stream::write::Encoder::new(file, 3).map_err(io)?.auto_finish())
    } else {
        Box::new(BufWriter::with_capacity(1 << 20, file))
    };
    let mut output = Output { out, place: place.clone() };
    export(trace, &mut output, progress)?;
    output.out.flush().map_err(io)?;
    drop(output);
    to.finish().map_err(io)
}
