"""An exception of a progress listener ends the work and reaches the caller unchanged."""

from __future__ import annotations

import json

import pytest
from swaplab import _core


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A trace whose reading takes longer than the interval of progress reports."""
    path = tmp_path_factory.mktemp("progress") / "large.csv"
    part = "".join(f"{n % 50021},R\n" for n in range(500_000))
    path.write_text("page,op\n" + 24 * part)
    return path


def test_an_exception_of_the_listener_reaches_the_caller(large, tmp_path):
    told = []

    def listen(done: int, total: int) -> None:
        told.append((done, total))
        raise RuntimeError("the listener's own")

    with pytest.raises(RuntimeError, match="the listener's own"):
        _core.trace_import(large, tmp_path / "out.slt", json.dumps({"format": "csv"}), listen)
    assert len(told) == 1 and list(tmp_path.iterdir()) == []
    # The next call is not affected.
    _core.trace_import(large, tmp_path / "out.slt", json.dumps({"format": "csv"}))
    assert (tmp_path / "out.slt").stat().st_size > 0


def test_an_interrupt_of_the_listener_reaches_the_caller(large, tmp_path):
    def listen(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.trace_import(large, tmp_path / "out.slt", json.dumps({"format": "csv"}), listen)
    assert list(tmp_path.iterdir()) == []
