//! A recording as rows of time: launches, kills and samples of each app.

use crate::slt::Trace;
use crate::{Counter, Mark};
use swaplab_vocab::{AppId, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// In front for so many nanoseconds.
    Launch(u64),
    Kill,
    Sample(Counter, i64),
}

/// What happened to an app (the machine is one) at a time since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub at_ns: u64,
    pub app: AppId,
    pub what: What,
}

/// Every launch, kill and sample in `trace`, in order.
pub fn read(trace: &Trace) -> Result<Vec<Row>> {
    let (mut rows, mut at_ns) = (Vec::new(), 0);
    trace.for_each_block(&mut |_, _| true, |block| {
        for (_, mark) in &block.marks {
            let (app, what) = match mark {
                Mark::Time { ns } => {
                    at_ns = *ns;
                    continue;
                }
                Mark::Launch { app, foreground_ns } => (*app, What::Launch(*foreground_ns)),
                Mark::Kill { app } => (*app, What::Kill),
                Mark::Sample { app, counter, value } => (*app, What::Sample(*counter, *value)),
                _ => continue,
            };
            rows.push(Row { at_ns, app, what });
        }
        Ok(())
    })?;
    Ok(rows)
}
