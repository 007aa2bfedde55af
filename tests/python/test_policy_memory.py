"""Memory of a policy: at most 16 bytes per page of the trace, and 10 MB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from replayed import experiment_texts
from swaplab import _core

PAGES = 1 << 21
LIMIT = 16 * PAGES + 10_000_000

REPLAY = r"""
import re, sys
from swaplab import _core
_core.replay_rows(sys.argv[1:], 1)
# Not getrusage: its peak begins with that of whoever started this process.
print(int(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1]) * 1024)
"""

ONLINE = [policy["key"] for policy in json.loads(_core.registry("policies")) if not policy["offline"]]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of every page once, then half of them in another order, so that there are hits, ghost
    entries and ghost hits.
    """
    folder = tmp_path_factory.mktemp("memory")
    text, slt = folder / "trace.csv", folder / "trace.slt"
    again = [(7919 * i) % PAGES for i in range(PAGES // 2)]
    rows = [f"{page},{'RW'[i % 2]}" for i, page in enumerate([*range(PAGES), *again])]
    text.write_text("page,op\n" + "\n".join(rows) + "\n")
    _core.trace_import(text, slt, json.dumps({"format": "csv"}))
    text.unlink()
    return slt


OPTIONS = {"file_device": "ufs-3.1", "swap_device": "optane-m10", "first_touch": "charged", "mapping": "follow", "signal": "exact"}


def peak(trace: Path, policy: str, times: int) -> int:
    """Measure the peak memory, in bytes, of a process that replays the policy `times` times in one
    pass.
    """
    command = [sys.executable, "-c", REPLAY, *experiment_texts(trace, [policy], ["50%"], **OPTIONS) * times]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MALLOC_ARENA_MAX": "1"})
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.long
def test_a_policy_keeps_at_most_16_bytes_a_page(trace: Path) -> None:
    """The difference between three equal points and one point is two policies with their engines'
    byte per page.
    """
    kept = {policy: (peak(trace, policy, 3) - peak(trace, policy, 1)) // 2 for policy in ONLINE}
    print({policy: round(bytes_ / PAGES, 1) for policy, bytes_ in kept.items()})
    assert min(kept.values()) > PAGES, "a policy keeps something of a page, and its engine a byte"
    too_much = {policy: bytes_ for policy, bytes_ in kept.items() if bytes_ > LIMIT}
    assert not too_much, f"more than {LIMIT} bytes: {too_much}"
