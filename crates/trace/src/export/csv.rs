//! `csv`: columns `page,op`, followed by `app` and `class` if the trace has them.

use super::Output;
use crate::slt::Trace;
use crate::source::Progress;
use std::io::Write;
use swaplab_vocab::Result;

pub fn export(trace: &Trace, out: &mut Output, progress: Progress) -> Result<()> {
    trace.require_references()?;
    let table = trace.page_table()?;
    let (apps, classes) = (!trace.meta.apps.is_empty(), trace.meta.classes_given);
    let header = ["page,op", if apps { ",app" } else { "" }, if classes { ",class" } else { "" }, "\n"].concat();
    out.write(header.as_bytes())?;
    let mut text = Vec::new();
    trace.for_each_block(progress, |block| {
        text.clear();
        for access in &block.accesses {
            let page = access.page() as usize;
            let line = write!(text, "{},{}", table.numbers[page], access.op().letter());
            line.expect("a vector takes any text");
            if apps {
                text.push(b',');
                text.extend(trace.meta.apps.get(table.apps[page] as usize).map_or("?", |a| &a.name).bytes());
            }
            if classes {
                text.push(b',');
                text.extend(table.classes[page].name().bytes());
            }
            text.push(b'\n');
        }
        out.write(&text)
    })
}
