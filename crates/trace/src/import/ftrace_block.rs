//! `ftrace-block`: the text of a kernel trace with block events. A request is counted at its
//! completion, because it may be issued twice when the queue is full. A trace with lost events is
//! refused. `swaplab trace capture --method block` writes the sectors of swap into the first lines;
//! `--ranges` or `--filefrag` replaces them.

use super::partitions::Partitions;
use super::{Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::meta::Kind;
use crate::source::{LineError, Lines, Source};
use swaplab_vocab::{Op, Result};

pub static FORMAT: Format = Format {
    key: "ftrace-block",
    what: "kernel trace text: block_rq_complete events, in 4 KiB pages",
    source: "Linux include/trace/events/block.h",
    parameters: &[],
    info: Info { kind: Kind::Block, own_options: &["ranges", "filefrag"], detect, import },
};

const COMPLETE: &str = " block_rq_complete: ";

fn detect(_: &str, head: &[u8]) -> bool {
    head.starts_with(b"# tracer:") || head.starts_with(b"# swaplab:") || String::from_utf8_lossy(head).contains(": block_rq_")
}

fn import(source: &mut Source, builder: &mut TraceBuilder, options: &Options) -> Result<()> {
    let given = options.ranges.is_some() || options.filefrag.is_some();
    let mut partitions = Partitions::load(options.ranges.as_deref(), options.filefrag.as_deref())?;
    Lines::new(source).each(|line| {
        let line = String::from_utf8_lossy(line);
        if let Some((_, event)) = line.split_once(COMPLETE) {
            return complete(event, builder, &mut partitions);
        }
        if let Some(partition) = line.strip_prefix("# swaplab: partition ") {
            return match given {
                true => Ok(()),
                false => partitions.declare(partition),
            };
        }
        if let Some(lost) = lost_events(&line) {
            return Err(LineError::Found(lost, "a trace without lost events (record again with a larger buffer_size_kb)"));
        }
        Ok(())
    })?;
    partitions.finish(builder);
    Ok(())
}

/// The line's report of dropped events, in either of ftrace's two forms.
fn lost_events(line: &str) -> Option<String> {
    if let Some((_, rest)) = line.split_once("[LOST ") {
        return Some(format!("LOST EVENTS: {}", rest.split(']').next().unwrap_or(rest)));
    }
    let (in_buffer, written) = line.strip_prefix("# entries-in-buffer/entries-written:")?.split_whitespace().next()?.split_once('/')?;
    let (in_buffer, written) = (in_buffer.parse::<u64>().ok()?, written.parse::<u64>().ok()?);
    (written > in_buffer).then(|| format!("LOST EVENTS: {} of {written}", written - in_buffer))
}

/// `254,0 RA () 332038144 + 32 be,0,4 [0]`: device, kind, sector, sectors, error.
fn complete(event: &str, builder: &mut TraceBuilder, partitions: &mut Partitions) -> std::result::Result<(), LineError> {
    const SHAPE: LineError = LineError::Expected("block_rq_complete: DEVICE KIND (..) SECTOR + SECTORS ..");
    let (head, tail) = event.split_once('(').and_then(|(head, rest)| Some((head, rest.split_once(')')?.1))).ok_or(SHAPE)?;
    let mut head = head.split_whitespace();
    let (Some(device), Some(kind)) = (head.next(), head.next()) else { return Err(SHAPE) };
    let mut tail = tail.split_whitespace();
    let (Some(Ok(sector)), Some("+"), Some(Ok(sectors))) = (tail.next().map(str::parse), tail.next(), tail.next().map(str::parse)) else {
        return Err(SHAPE);
    };
    // A leading F is a flush before the request; FF is a flush without data.
    match kind.strip_prefix('F').filter(|rest| !rest.is_empty()).unwrap_or(kind).as_bytes().first() {
        Some(b'R') => partitions.request(builder, device, Op::Read, sector, sectors),
        Some(b'W') => partitions.request(builder, device, Op::Write, sector, sectors),
        Some(b'D' | b'E') => {
            partitions.discards += 1;
            Ok(())
        }
        Some(b'F') => {
            partitions.flushes += 1;
            Ok(())
        }
        // N: no data, a driver's own command.
        Some(b'N') => Ok(()),
        _ => Err(LineError::Found(format!("a request of kind '{kind}'"), "a kind of R, W, D, E, F or N")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_marks_of_loss_are_seen() {
        assert_eq!(lost_events("CPU:1 [LOST 1234 EVENTS]").unwrap(), "LOST EVENTS: 1234 EVENTS");
        assert_eq!(lost_events("# entries-in-buffer/entries-written: 600/1000   #P:2").unwrap(), "LOST EVENTS: 400 of 1000");
        assert_eq!(lost_events("# entries-in-buffer/entries-written: 600/600   #P:2"), None);
        assert_eq!(lost_events("#           TASK-PID       TGID    CPU#"), None);
    }
}
