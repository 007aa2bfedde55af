"""Instructions per reference, counted by callgrind: a regression test of speed that is independent
of noise.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest
from replayed import experiment_texts
from swaplab import _core

from benches.peers.workload import references

PAGES = 20_000
# Limits of the engine with its accounting and the policy, without decoding; three of ten references
# fault here. The design's goals are 50, 60, 60 and 90. Prefetching costs about ten instructions but
# saves 10 to 40 % of the time (docs/decisions/0050), so the limits are the counts measured with it
# (65.9, 83.8, 63.0, 140.1, 143.2) plus about 10 %.
LIMITS = {"clock": 72, "lru": 93, "sieve": 69, "arc": 154, "spo-clock": 157}
# A policy that was run takes at least these.
LEAST = 20
# What a point takes whatever its trace's length: 2.9 million counted, plus about 10 %.
POINT = 3_200_000

REPLAY = """
import sys
from swaplab import _core
_core.replay_rows(sys.argv[1:], 1)
"""
OPTIONS = {"file_device": "ufs-3.1", "swap_device": "optane-m10", "first_touch": "charged", "mapping": "follow", "signal": "exact"}


def import_trace(length: int, folder: Path) -> Path:
    """Import the first `length` references of the workload into `folder`."""
    text, slt = folder / f"{length}.csv", folder / f"{length}.slt"
    rows = (f"{page},{op}" for block, operations in references(20 * PAGES, PAGES) for page, op in zip(block, operations, strict=True))
    text.write_text("page,op\n" + "\n".join(islice(rows, length)) + "\n")
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


@pytest.mark.long
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed: instructions can't be counted")
def test_instructions_a_reference(tmp_path: Path) -> None:
    """The second point's instructions exclude start-up and reading of the trace. Those of a short
    trace are what a point itself takes.
    """

    def second_point(trace: Path, policies: Iterable[str]) -> dict[str, int]:
        out = tmp_path / "callgrind.out"
        once = instructions(trace, ["clock"], out)
        return {policy: instructions(trace, ["clock", policy], out) - once for policy in policies}

    point = second_point(import_trace(100, tmp_path), ["clock"])["clock"]
    counts = second_point(import_trace(20 * PAGES, tmp_path), LIMITS)
    each = {policy: round((count - point) / (20 * PAGES), 1) for policy, count in counts.items()}
    print("instructions of a point:", point, "of a reference:", each)
    assert 0 < point <= POINT
    assert all(LEAST <= each[policy] <= limit for policy, limit in LIMITS.items()), each
