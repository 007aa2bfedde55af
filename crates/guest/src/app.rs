//! This program in the role of an app. It first joins its control group, so that all its pages are
//! charged to that group.

use crate::cgroup;
use std::path::Path;
use std::time::Duration;
use swaplab_app::{Feature, Memory};
use swaplab_vocab::{BadInput, Result};

/// Serve the launcher (`app NAME FEATURE DATA`), or use the pages of the system process until the
/// machine is turned off (`system NAME FEATURE DATA PERIOD_NS PAGES`).
pub fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The process's name in traces, which the kernel truncates to 15 bytes. A failure only makes a
    // trace harder to read.
    let _ = std::fs::write("/proc/self/comm", words.get(1).copied().unwrap_or_default());
    match words[..] {
        ["app", name, feature, data] => {
            cgroup::join(Some(name))?;
            swaplab_app::serve(parse(feature)?.shape()?, Path::new(data), std::io::stdin().lock(), std::io::stdout().lock())
        }
        ["system", _, feature, data, period, pages] => {
            cgroup::join(None)?;
            live(&parse(feature)?, data, Duration::from_nanos(number(period)?), number(pages)?)
        }
        _ => Err(BadInput::new("arguments", words.join(" "), "the launcher's arguments")),
    }
}

fn parse(feature: &str) -> Result<Feature> {
    serde_json::from_str(feature).map_err(|error| BadInput::new("feature", error.to_string(), "an app's access feature"))
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| BadInput::new("arguments", text, "a number"))
}

/// Use `pages` pages every `period`, without end.
fn live(feature: &Feature, data: &str, period: Duration, pages: u64) -> Result<()> {
    let failed = |error| BadInput::io(data, error);
    let mut memory = Memory::open(feature.shape()?, Path::new(data)).map_err(failed)?;
    memory.launch();
    println!("ready");
    loop {
        std::thread::sleep(period);
        memory.work(pages).map_err(failed)?;
    }
}
