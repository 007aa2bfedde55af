//! `series`: `t_s,app,what,value` of a recording: launches (value: seconds in front), kills, and
//! samples of counters by name.

use super::Output;
use crate::series::{read, Event};
use crate::slt::Trace;
use crate::source::Progress;
use swaplab_vocab::{BadInput, Result};

pub fn export(trace: &Trace, out: &mut Output, _: Progress) -> Result<()> {
    let rows = read(trace)?;
    if rows.is_empty() {
        return Err(BadInput::new(trace.place(), "no launch, kill or sample in it", "a trace of launches, or a recording of memory"));
    }
    out.write(b"t_s,app,what,value\n")?;
    for row in rows {
        let app = trace.meta.apps.get(usize::from(row.app)).map_or("?", |a| &a.name);
        // Names are external input, so those with a comma or a quote are quoted.
        let app = if app.contains([',', '"', '\n']) { format!("\"{}\"", app.replace('"', "\"\"")) } else { app.to_string() };
        let (name, value) = match row.event {
            Event::Launch(foreground_ns) => ("launch", (foreground_ns as f64 / 1e9).to_string()),
            Event::Kill => ("kill", String::new()),
            Event::Sample(counter, value) => (counter.name(), value.to_string()),
        };
        out.write(format!("{},{app},{name},{value}\n", row.at_ns as f64 / 1e9).as_bytes())?;
    }
    Ok(())
}
