"""`swaplab exec` on a program whose threads allocate at the same time, also while one of them
starts the pager thread.
"""

from __future__ import annotations

import subprocess

import pytest
from rss import MIB, watched
from test_run import HERE, program, pytestmark  # noqa: F401


@pytest.mark.parametrize(("scheme", "own_mib"), [("nvm-direct", 4), ("zram:algorithm=zstd", 16)])
def test_what_all_threads_allocate_is_managed(tmp_path, scheme, own_mib):
    """Of 128 MiB, 2 at most were not managed, besides the pager's own memory: its tables, and with
    zram the compressed pages.
    """
    together = tmp_path / "together"
    subprocess.run([program("gcc"), "-O1", "-fno-builtin", "-pthread", "-o", together, HERE / "together.c"], check=True)
    run = watched([str(together)], 48 * MIB, "--swap", scheme, timeout=120)
    assert (run.code, run.out) == (0, b"right\n"), (run.out, run.err, run.stood)
    assert run.stats["swap_outs"] > 5000, run.stats
    assert run.stats["unmanaged_peak_bytes"] - run.stats["own_bytes"] < 2 * MIB, run.stats
    assert run.stats["own_bytes"] < own_mib * MIB, run.stats
