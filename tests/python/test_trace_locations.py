"""Locations of traces: pipes, standard input and addresses are read once per process."""

import io
import os
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from command import csv_trace, here
from swaplab import _core
from swaplab.core.errors import BadInput
from swaplab.core.experiment import BUNDLED
from swaplab.core.model import Reading
from swaplab.core.trace import as_json, to_parquet
from swaplab.worlds import traces


@pytest.fixture
def text_on_stdin(monkeypatch: pytest.MonkeyPatch):
    class Input:
        buffer = io.BytesIO(b"1 R\n2 W\n" * 50)

    monkeypatch.setattr(sys, "stdin", Input)
    traces._copy_of_pipe.cache_clear()
    yield
    traces._copy_of_pipe.cache_clear()


def test_standard_input_is_read_once_whatever_the_reading_options(text_on_stdin: None):
    first = traces.local_trace("-")
    second = traces.local_trace("-", '{"page_size": 16384}')
    assert first != second
    assert _core.trace_info(first, "{}") and _core.trace_info(second, "{}")


@pytest.mark.parametrize("words", [("info",), ("mrc", "--sizes", "2"), ("mrc", "--sizes", "2", "--policy", "clock"), ("analyze",)])
@pytest.mark.parametrize("format", ["csv", "slt"])
def test_a_named_pipe_is_read_once(tmp_path: Path, words: tuple[str, ...], format: str):
    pipe, file = tmp_path / "pipe", tmp_path / "trace.slt"
    csv_trace(tmp_path / "trace.csv")
    assert here("trace", "import", tmp_path / "trace.csv", "-o", file).code == 0
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(file.with_suffix(f".{format}").read_bytes()))
    writer.start()
    command, *options = words
    from_pipe = here("trace", command, pipe, *options, "--json")
    writer.join()
    found, wanted = from_pipe.document, here("trace", command, file.with_suffix(f".{format}"), *options, "--json").document
    for document in (found, wanted):
        # What names the place of the trace.
        for key in ("name", "provenance", "trace"):
            document.pop(key, None)
    assert found == wanted and wanted


def test_reading_options_on_a_slt_are_refused(tmp_path: Path):
    with pytest.raises(BadInput, match="page_size: no effect on a .slt"):
        traces.local_trace("djpeg", '{"page_size": 4096}')
    reading, text = Reading(page_size=4096), tmp_path / "t.csv"
    assert as_json(reading, text) == '{"page_size":4096}'
    with pytest.raises(BadInput, match="djpeg.slt: page_size: no effect on a .slt"):
        as_json(reading, text, BUNDLED["djpeg"])


@pytest.mark.parametrize(
    "words",
    [
        ["trace", "info", "djpeg"],
        ["trace", "mrc", "djpeg", "--sizes", "2"],
        ["trace", "analyze", "djpeg"],
        ["trace", "slice", "djpeg", "--count", "10", "-o", "out.slt"],
        ["trace", "merge", "djpeg", "djpeg", "-o", "out.slt"],
        ["plan", "djpeg", "--memory", "50%", "--swap", "zram"],
    ],
)
def test_every_command_that_reads_a_trace_takes_a_bundled_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]):
    monkeypatch.chdir(tmp_path)
    assert here(*words, "--json").document


def test_a_file_is_taken_before_a_bundled_trace_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("djpeg").write_text("1 R\n2 W\n" * 50)
    assert here("trace", "info", "djpeg", "--json").document["references"] == 100


def test_a_parquet_file_replaces_a_file_and_nothing_else(tmp_path: Path):
    source, output = csv_trace(tmp_path / "t.csv", references=4), tmp_path / "t.parquet"
    for _ in range(2):
        to_parquet(source, None, output)
        assert pl.read_parquet(output)["page"].to_list() == [0, 7, 14, 21]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.parquet"]
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(output)
    to_parquet(source, None, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    for place, said in (("folder", "folder: not a regular file"), ("none/t.parquet", "none: no such folder"), ("t.csv", "t.csv")):
        with pytest.raises(BadInput, match=said):
            to_parquet(source, None, tmp_path / place)
