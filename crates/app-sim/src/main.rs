//! The command `swaplab-app`. The library documents what it does, `--help` its options.

use clap::Parser;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use swaplab_app::{serve, Feature};
use swaplab_vocab::Result;

#[derive(Parser)]
#[command(about = "A program whose use of memory is set by options and whose every page is checked")]
struct Options {
    #[command(flatten)]
    feature: Feature,
    /// The file with the file-backed pages. It is written, over what is there, unless a file of the
    /// right size exists.
    #[arg(long, default_value = "swaplab-app.data")]
    data: PathBuf,
}

fn run(options: &Options) -> Result<()> {
    serve(options.feature.shape()?, &options.data, io::stdin().lock(), io::stdout().lock())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("swaplab-app: {error}");
            ExitCode::from(2)
        }
    }
}
