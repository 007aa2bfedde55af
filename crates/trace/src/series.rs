//! A recording as a list of events in order of time: launches, kills and samples of each app.

use crate::slt::Trace;
use crate::{Counter, Mark};
use swaplab_vocab::{AppId, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The app came to the front and stayed there for this many nanoseconds.
    Launch(u64),
    Kill,
    Sample(Counter, i64),
}

/// An event of an app at a time since the start of the recording. Events of the machine belong to
/// the app named [`crate::MACHINE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub at_ns: u64,
    pub app: AppId,
    pub event: Event,
}

/// Every launch, kill and sample in `trace`, in order.
pub fn read(trace: &Trace) -> Result<Vec<Row>> {
    let (mut rows, mut at_ns) = (Vec::new(), 0);
    trace.for_each_block(&mut |_, _| true, |block| {
        for (_, mark) in &block.marks {
            let (app, event) = match mark {
                Mark::Time { ns } => {
                    at_ns = *ns;
                    continue;
                }
                Mark::Launch { app, foreground_ns } => (*app, Event::Launch(*foreground_ns)),
                Mark::Kill { app } => (*app, Event::Kill),
                Mark::Sample { app, counter, value } => (*app, Event::Sample(*counter, *value)),
                _ => continue,
            };
            rows.push(Row { at_ns, app, event });
        }
        Ok(())
    })?;
    Ok(rows)
}
