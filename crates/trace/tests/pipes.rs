//! Traces that come through a pipe.

use std::io::Write;
use std::path::PathBuf;
use swaplab_trace::source::{read_to_end, Source};

fn fifo(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR, 0).unwrap();
    path
}

#[test]
fn a_pipe_without_a_writer_is_left_when_the_caller_stops() {
    let folder = tempfile::tempdir().unwrap();
    let mut calls = 0;
    let mut stop = |_, _| {
        calls += 1;
        calls < 3
    };
    let error = Source::open(&fifo(&folder), &mut stop).err().unwrap();
    assert!(error.to_string().ends_with("pipe: byte 0"), "{error}");
    assert_eq!(calls, 3);
}

#[test]
fn a_named_pipe_is_read_to_its_end_and_each_byte_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = fifo(&folder);
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            for line in ["1 R\n", "2 W\n"] {
                std::thread::sleep(std::time::Duration::from_millis(150));
                pipe.write_all(line.as_bytes()).unwrap();
            }
        }
    });
    let mut go_on = |_, _| true;
    let mut source = Source::open(&path, &mut go_on).unwrap();
    assert_eq!(read_to_end(&mut source, 100).unwrap(), b"1 R\n2 W\n");
    writer.join().unwrap();
}
