"""Instructions a reference, counted by callgrind: a guard on speed that no noise can touch."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from replayed import experiment_texts
from swaplab import _core

from benches.peers.workload import references

PAGES = 20_000
# The engine with its accounting, and the policy; decoding the trace is left out. Measured with a tenth to spare: three references of
# ten fault here. The design asks for 50, 60, 60 and 90. Asking early for what will be needed costs about ten of these and takes a
# tenth to two fifths of the time (docs/decisions/0050), so the bounds guard what that choice measured: 65.1, 85.0, 62.6, 139.9.
LIMITS = {"clock": 72, "lru": 94, "sieve": 69, "arc": 154}

REPLAY = """
import sys
from swaplab import _core
_core.replay_rows(sys.argv[1:], 1)
"""
OPTIONS = {"file_device": "ufs-3.1", "swap_device": "optane-m10", "first_touch": "charged", "mapping": "follow", "signal": "exact"}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trace")
    text, slt = folder / "trace.csv", folder / "trace.slt"
    rows = [f"{page},{op}" for block, operations in references(20 * PAGES, PAGES) for page, op in zip(block, operations, strict=True)]
    text.write_text("page,op\n" + "\n".join(rows) + "\n")
    _core.trace_import(text, slt, json.dumps({"format": "csv"}))
    return slt


def instructions(trace: Path, policies: list[str], out: Path) -> int:
    texts = [text for policy in policies for text in experiment_texts(trace, [policy], ["25%"], **OPTIONS)]
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, "-c", REPLAY, *texts]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    assert done.returncode == 0, done.stderr
    collected = re.search(r"Collected : (\d+)", done.stderr)
    assert collected, done.stderr
    return int(collected[1])


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed: instructions can't be counted")
def test_instructions_a_reference(trace: Path, tmp_path: Path) -> None:
    """Two equal points against one: what they differ by is free of start-up and of reading the trace."""
    once = instructions(trace, ["clock"], tmp_path / "callgrind.out")
    more = {policy: instructions(trace, ["clock", policy], tmp_path / "callgrind.out") for policy in LIMITS}
    each = {policy: round((count - once) / (20 * PAGES), 1) for policy, count in more.items()}
    print("instructions a reference:", each)
    assert all(each[policy] <= limit for policy, limit in LIMITS.items()), each
