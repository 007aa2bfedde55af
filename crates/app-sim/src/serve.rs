//! The app's protocol: it writes `ready` after accessing the launch set, and then one line for each
//! line of input.

use crate::memory::{Checked, Memory};
use crate::shape::Shape;
use std::io::{BufRead, Write};
use std::path::Path;
use swaplab_vocab::{BadInput, Result};

/// Run the app until its input ends or says `quit`.
///
/// Requests are `resume` (access the resume set), `work N` (foreground use of N pages), `verify`
/// (check every page accessed so far). The answer is `ok pages=N bad=M`: N pages were accessed, and
/// M of them had wrong content.
pub fn serve(shape: Shape, data: &Path, input: impl BufRead, mut output: impl Write) -> Result<()> {
    let failed = |error| BadInput::io(data.display().to_string(), error);
    let mut memory = Memory::open(shape, data).map_err(failed)?;
    let launched = memory.launch();
    let mut answer = |word: &str, checked: Checked| {
        writeln!(output, "{word} pages={} bad={}", checked.pages, checked.bad)
            .and_then(|()| output.flush())
            .map_err(|e| BadInput::io("stdout", e))
    };
    answer("ready", launched)?;
    for line in input.lines() {
        let line = line.map_err(|e| BadInput::io("stdin", e))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let checked = match words.as_slice() {
            ["resume"] => memory.resume(),
            ["verify"] => memory.verify(),
            ["quit"] => return Ok(()),
            ["work", count] => match count.parse() {
                Ok(count) => memory.work(count).map_err(failed)?,
                Err(_) => return Err(BadInput::new("stdin", format!("work {count}"), "work and a number of pages")),
            },
            _ => return Err(BadInput::new("stdin", format!("'{line}'"), "resume, work N, verify or quit")),
        };
        answer("ok", checked)?;
    }
    Ok(())
}
