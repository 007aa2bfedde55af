//! `swaplab-app`: a program whose memory access feature is set by options (SwapBench's "application category") and whose pages carry
//! checksums, so that a swap scheme that loses a bit is found out.
//!
//! It says `ready` after its launch set is touched, then answers each line on its standard input with one line:
//! `resume` (touch the resume set), `work N` (N pages of foreground use), `verify` (every page touched so far), `quit`.
//! The answer is `ok pages=N bad=M`: M pages whose content was not what was last written there.

mod content;
mod dice;
mod memory;

use clap::Parser;
use memory::{Checked, Memory, Shape};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use swaplab_vocab::{BadInput, Result};

#[derive(Parser)]
#[command(about = "A program whose use of memory is set by options and whose every page is checked")]
struct Options {
    /// Memory in all, file pages included: 48MiB.
    #[arg(long, default_value = "48MiB")]
    footprint: String,
    /// Share of the pages that belong to a file, which is mapped as code is.
    #[arg(long, default_value_t = 0.25)]
    file_share: f64,
    /// Share of the pages that foreground use keeps going back to.
    #[arg(long, default_value_t = 0.25)]
    hot_share: f64,
    /// Share of touches of anonymous pages that write.
    #[arg(long, default_value_t = 0.3)]
    write_ratio: f64,
    /// Share of each page that a compressor can take away.
    #[arg(long, default_value_t = 0.6)]
    compressibility: f64,
    /// Share of the pages touched between start and ready.
    #[arg(long, default_value_t = 0.6)]
    launch_set: f64,
    /// Share of the pages touched when the app comes back.
    #[arg(long, default_value_t = 0.3)]
    resume_set: f64,
    /// Hot pages lie together and are touched in order, as a layout by profile has them; else scattered.
    #[arg(long)]
    hot_first: bool,
    /// Pages touched in a row, what read-ahead can win.
    #[arg(long, default_value_t = 8)]
    run: u64,
    /// Seed of contents and order.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file with the file pages; made when it isn't there.
    #[arg(long, default_value = "swaplab-app.data")]
    data: PathBuf,
}

impl Options {
    fn shape(&self) -> Result<Shape> {
        let shares = [
            ("--file-share", self.file_share),
            ("--hot-share", self.hot_share),
            ("--write-ratio", self.write_ratio),
            ("--compressibility", self.compressibility),
            ("--launch-set", self.launch_set),
            ("--resume-set", self.resume_set),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(BadInput::new(name, share.to_string(), "a share from 0 to 1"));
            }
        }
        if self.run == 0 {
            return Err(BadInput::new("--run", "0", "at least one page"));
        }
        let pages = swaplab_vocab::Memory::parse(&self.footprint)?.pages(memory::PAGE as u64, 0)?;
        if pages < self.run {
            return Err(BadInput::new("--footprint", format!("{pages} pages"), format!("at least one run of {} pages", self.run)));
        }
        Ok(Shape {
            pages,
            run: self.run,
            seed: self.seed,
            file_share: self.file_share,
            hot_share: self.hot_share,
            write_ratio: self.write_ratio,
            compressibility: self.compressibility,
            launch_set: self.launch_set,
            resume_set: self.resume_set,
            hot_first: self.hot_first,
        })
    }
}

fn main() -> ExitCode {
    match serve(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("swaplab-app: {error}");
            ExitCode::from(2)
        }
    }
}

fn serve(options: &Options) -> Result<()> {
    let failed = |error| BadInput::io(options.data.display().to_string(), error);
    let mut memory = Memory::open(options.shape()?, &options.data).map_err(failed)?;
    let mut out = io::stdout().lock();
    let launched = memory.launch();
    let mut say = |word: &str, checked: Checked| {
        writeln!(out, "{word} pages={} bad={}", checked.pages, checked.bad)
            .and_then(|()| out.flush())
            .map_err(|e| BadInput::io("stdout", e))
    };
    say("ready", launched)?;
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|e| BadInput::io("stdin", e))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let checked = match words.as_slice() {
            ["resume"] => memory.resume(),
            ["verify"] => memory.verify(),
            ["quit"] => return Ok(()),
            ["work", count] => match count.parse() {
                Ok(count) => memory.work(count),
                Err(_) => return Err(BadInput::new("stdin", format!("work {count}"), "work and a number of pages")),
            },
            _ => return Err(BadInput::new("stdin", format!("'{line}'"), "resume, work N, verify or quit")),
        };
        say("ok", checked)?;
    }
    Ok(())
}
