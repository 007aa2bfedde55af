//! `memory-samples`: the output of a loop of shell commands on a phone (docs/how-to/capture.md), as
//! launches with memory series.
//!
//! A line `@ SECONDS` begins a sample; `@ SECONDS launch APP [SECONDS IN FRONT]`,
//! `@ SECONDS start APP` and `@ SECONDS kill APP` are events. `process PID APP [OOM_SCORE_ADJ]`
//! precedes the `smaps` or `smaps_rollup` of that app; `dumpsys meminfo` names its app itself.
//! `/proc/meminfo`, `/proc/vmstat` and `/proc/pressure/memory` are of the machine. Lines of any
//! other form are ignored.

use super::{Format, Info, Options};
use crate::builder::TraceBuilder;
use crate::meta::Kind;
use crate::source::{LineError, Lines, Source};
use crate::{Counter, Mark, MACHINE};
use std::collections::BTreeMap;
use swaplab_vocab::{BadInput, Result};

pub static FORMAT: Format = Format {
    key: "memory-samples",
    what: "samples of smaps, dumpsys meminfo, /proc/meminfo and vmstat, each after a line '@ SECONDS'",
    source: "Android dumpsys and Linux /proc, as docs/how-to/capture.md samples them",
    parameters: &[],
    info: Info {
        kind: Kind::Launch,
        own_options: &[],
        detect: |_, head| event(&String::from_utf8_lossy(super::first_line(head))).is_some(),
        import,
    },
};

#[derive(Clone, Debug, PartialEq)]
enum Event {
    Sample,
    Launch(String, Option<f64>),
    Start(String),
    Kill(String),
}

/// Rows of `smaps` (summed over mappings) and of `dumpsys meminfo`'s summary, in KiB, and the
/// counter each belongs to.
const MEMORY: [(&str, Counter); 11] = [
    ("Anonymous", Counter::Anon),
    ("Swap", Counter::Swap),
    ("Pss_File", Counter::File),
    ("Pss_Shmem", Counter::Shmem),
    ("Java Heap", Counter::Anon),
    ("Native Heap", Counter::Anon),
    ("Stack", Counter::Anon),
    ("Private Other", Counter::Anon),
    ("Code", Counter::File),
    ("Graphics", Counter::Graphics),
    ("TOTAL SWAP PSS", Counter::Swap),
];
const MACHINE_KIB: [(&str, Counter); 7] = [
    ("MemTotal", Counter::MemTotal),
    ("MemFree", Counter::MemFree),
    ("Buffers", Counter::Buffers),
    ("Cached", Counter::Cached),
    ("AnonPages", Counter::AnonPages),
    ("SwapTotal", Counter::SwapTotal),
    ("SwapFree", Counter::SwapFree),
];
const VMSTAT: [(&str, Counter); 3] = [("pswpin", Counter::PagesIn), ("pswpout", Counter::PagesOut), ("pgmajfault", Counter::MajorFaults)];

/// The sample whose lines are being read.
#[derive(Default)]
struct Open {
    /// The app of the current process.
    app: Option<String>,
    values: BTreeMap<(String, Counter), i64>,
    /// `Rss` by app, from which resident file memory is computed if only `Rss` and `Anonymous` are
    /// given.
    rss: BTreeMap<String, i64>,
}

fn import(source: &mut Source, builder: &mut TraceBuilder, _: &Options) -> Result<()> {
    let name = source.name.clone();
    let mut open = Open::default();
    let mut events: Vec<(u64, Event, Open)> = Vec::new();
    Lines::new(source).each(|line| {
        let line = String::from_utf8_lossy(line);
        if line.starts_with("@ ") {
            const SHAPE: LineError =
                LineError::Expected("@ SECONDS, and after it nothing, 'launch APP [SECONDS]', 'start APP' or 'kill APP'");
            let (seconds, event) = event(&line).ok_or(SHAPE)?;
            let ns = (seconds * 1e9).round() as u64;
            if let Some((before, _, last)) = events.last_mut() {
                *last = std::mem::take(&mut open);
                if ns < *before {
                    let found = format!("{seconds} s after {} s", *before as f64 / 1e9);
                    return Err(LineError::Found(found, "times that do not run backwards"));
                }
            }
            events.push((ns, event, Open::default()));
        } else if events.is_empty() {
            return Err(LineError::Expected("a first line '@ SECONDS'"));
        } else {
            open.line(&line)?;
        }
        Ok(())
    })?;
    let Some((_, _, last)) = events.last_mut() else {
        return Err(BadInput::new(name, "no sample in it", "lines that begin with '@ SECONDS'"));
    };
    *last = open;
    write(events, builder)
}

fn event(line: &str) -> Option<(f64, Event)> {
    let words: Vec<&str> = line.strip_prefix("@ ")?.split_whitespace().collect();
    let seconds = |text: &str| text.parse::<f64>().ok().filter(|s| (0.0..1e9).contains(s));
    let at = seconds(words.first()?)?;
    Some(match words[1..] {
        [] => (at, Event::Sample),
        ["launch", app] => (at, Event::Launch(app.into(), None)),
        ["launch", app, front] => (at, Event::Launch(app.into(), Some(seconds(front)?))),
        ["start", app] => (at, Event::Start(app.into())),
        ["kill", app] => (at, Event::Kill(app.into())),
        _ => return None,
    })
}

impl Open {
    fn line(&mut self, line: &str) -> std::result::Result<(), LineError> {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("process ") {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let ([_, app] | [_, app, _]) = words[..] else { return Err(LineError::Expected("process PID APP [OOM_SCORE_ADJ]")) };
            self.app = Some(app.to_string());
            if let Some(text) = words.get(2) {
                let value = text.parse().map_err(|_| LineError::Expected("process PID APP and a whole number, its oom_score_adj"))?;
                self.values.insert((app.into(), Counter::Adjustment), value);
            }
        } else if let Some(rest) = line.strip_prefix("** MEMINFO in pid ") {
            let app = rest.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0));
            self.app = Some(app.ok_or(LineError::Expected("** MEMINFO in pid PID [APP] **"))?.to_string());
        } else if let Some((counter, rest)) = [("some ", Counter::StallSomeNs), ("full ", Counter::StallFullNs)]
            .into_iter()
            .find_map(|(head, counter)| Some((counter, line.strip_prefix(head)?)))
        {
            // In microseconds.
            let total = rest.split_once("total=").and_then(|(_, total)| total.trim().parse::<i64>().ok());
            self.machine(counter, total.map(|us| us.saturating_mul(1000)));
        } else if let Some((key, value)) = line.split_once(':') {
            let value = value.split_whitespace().next().and_then(|v| v.parse::<i64>().ok()).filter(|v| (0..1 << 40).contains(v));
            if let Some((_, counter)) = MACHINE_KIB.iter().find(|(name, _)| *name == key) {
                self.machine(*counter, value);
            } else if let (Some(app), Some(value)) = (self.app.clone(), value) {
                self.memory(app, line, key, value);
            }
        } else if let Some((key, value)) = line.split_once(' ') {
            if let Some((_, counter)) = VMSTAT.iter().find(|(name, _)| *name == key) {
                self.machine(*counter, value.trim().parse().ok());
            }
        }
        Ok(())
    }

    fn machine(&mut self, counter: Counter, value: Option<i64>) {
        if let Some(value) = value {
            self.values.insert((MACHINE.into(), counter), value);
        }
    }

    fn memory(&mut self, app: String, line: &str, key: &str, value: i64) {
        if key == "Rss" {
            *self.rss.entry(app).or_insert(0) += value;
        } else if key == "TOTAL PSS" {
            // `TOTAL PSS:  N  TOTAL RSS:  N  TOTAL SWAP PSS:  N`
            let swap = line.split_once("TOTAL SWAP PSS:").and_then(|(_, n)| n.split_whitespace().next()?.parse().ok());
            swap.into_iter().for_each(|n: i64| *self.values.entry((app.clone(), Counter::Swap)).or_insert(0) += n);
        } else if let Some((_, counter)) = MEMORY.iter().find(|(name, _)| *name == key) {
            *self.values.entry((app, *counter)).or_insert(0) += value;
        }
    }

    /// The values of the sample. Resident file memory is `Rss` minus `Anonymous` if it is not given
    /// directly.
    fn finish(mut self) -> BTreeMap<(String, Counter), i64> {
        for (app, rss) in self.rss {
            let anon = self.values.get(&(app.clone(), Counter::Anon)).copied().unwrap_or(0);
            self.values.entry((app, Counter::File)).or_insert((rss - anon).max(0));
        }
        self.values
    }
}

fn write(events: Vec<(u64, Event, Open)>, builder: &mut TraceBuilder) -> Result<()> {
    let start = events[0].0;
    let end = events.last().map_or(start, |(ns, _, _)| *ns);
    // Without a duration, an app is in front until the next launch.
    let launches: Vec<u64> = events.iter().filter(|(_, event, _)| matches!(event, Event::Launch(..))).map(|(ns, _, _)| *ns).collect();
    let mut launched = 0;
    let mut starts: BTreeMap<String, i64> = BTreeMap::new();
    for (ns, event, open) in events {
        builder.mark(Mark::Time { ns: ns - start })?;
        match event {
            Event::Sample => {}
            Event::Launch(name, front) => {
                launched += 1;
                let until = launches.get(launched).copied().unwrap_or(end) - ns;
                let app = builder.app(&name, None)?;
                builder.mark(Mark::Launch { app, foreground_ns: front.map_or(until, |s| (s * 1e9).round() as u64) })?;
            }
            Event::Start(name) => {
                let app = builder.app(&name, None)?;
                let count = starts.entry(name).or_insert(0);
                *count += 1;
                builder.mark(Mark::Sample { app, counter: Counter::Starts, value: *count })?;
            }
            Event::Kill(name) => {
                let app = builder.app(&name, None)?;
                builder.mark(Mark::Kill { app })?;
            }
        }
        for ((name, counter), value) in open.finish() {
            let app = builder.app(&name, None)?;
            builder.mark(Mark::Sample { app, counter, value })?;
        }
    }
    Ok(())
}
