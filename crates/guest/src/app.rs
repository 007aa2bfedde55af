//! This program in the role of an app. It joins its control group first, so that all its pages are charged to that group.

use crate::cgroup;
use std::path::Path;
use std::time::Duration;
use swaplab_app::{Feature, Memory};
use swaplab_vocab::{BadInput, Result};

/// Serve the launcher (`app NAME FEATURE DATA`), or use the pages of the system's process until the machine ends
/// (`system NAME FEATURE DATA PERIOD_NS PAGES`).
pub fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // What tracepoints call the process. The kernel cuts it to 15 bytes; without the name a trace is harder to read, no more.
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
        _ => Err(BadInput::new("arguments", words.join(" "), "those that the launcher gives")),
    }
}

fn parse(feature: &str) -> Result<Feature> {
    serde_json::from_str(feature).map_err(|error| BadInput::new("feature", error.to_string(), "an app's access feature"))
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| BadInput::new("arguments", text, "a number"))
}

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
