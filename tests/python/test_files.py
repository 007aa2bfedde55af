"""Files: atomic writing, and paths in messages."""

import os
import select
from pathlib import Path

import pytest
from swaplab.core import files


def test_an_interruption_after_the_file_is_in_place_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rename = os.replace

    def rename_and_interrupt(source: Path, target: Path) -> None:
        rename(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", rename_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_whole(tmp_path / "out", b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"whole")]


def test_an_interruption_before_it_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    (tmp_path / "out").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_whole(tmp_path / "out", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"old")]


def test_a_pipe_that_is_tried_as_an_output_is_not_opened(tmp_path: Path):
    """Its reader would take the end of the trial for the end of the output."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.try_output(tmp_path / "pipe")
    watch = select.poll()
    watch.register(reader)
    assert watch.poll(0) == [], "no writer has hung up"
    os.close(reader)


def test_a_path_that_is_not_utf_8_is_escaped_in_messages():
    assert files.path_for_message(os.fsdecode(b"a\xff/\xc3\xa4")) == "a\\xff/ä"
