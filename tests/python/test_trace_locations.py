"""Locations of traces: standard input and addresses are read once per process."""

import io
import sys
from pathlib import Path

import pytest
from swaplab import _core
from swaplab.core.errors import BadInput
from swaplab.worlds import traces


@pytest.fixture
def text_on_stdin(monkeypatch: pytest.MonkeyPatch):
    class Input:
        buffer = io.BytesIO(b"1 R\n2 W\n" * 50)

    monkeypatch.setattr(sys, "stdin", Input)
    traces._standard_input.cache_clear()
    yield
    traces._standard_input.cache_clear()


def test_standard_input_is_read_once_whatever_the_reading_options(text_on_stdin: None):
    first = traces.local_trace("-")
    second = traces.local_trace("-", '{"page_size": 16384}')
    assert first != second
    assert _core.trace_info(first, "{}") and _core.trace_info(second, "{}")


def test_reading_options_on_a_slt_are_refused(tmp_path: Path):
    with pytest.raises(BadInput, match="page_size: no effect on a .slt"):
        traces.local_trace("djpeg", '{"page_size": 4096}')
