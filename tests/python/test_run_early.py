"""`swaplab exec` on programs with an allocator of their own, which took its address space before
the preloaded library started.
"""

from __future__ import annotations

import subprocess

import pytest
from rss import MIB, assert_the_budget_holds, watched
from test_run import HERE, program, pytestmark  # noqa: F401

LONG = [pytest.param(how, marks=pytest.mark.long) for how in ("single", "alone")]


@pytest.fixture(scope="session")
def early(tmp_path_factory) -> str:
    """The program, which checks 64 MiB twice."""
    target = tmp_path_factory.mktemp("early") / "early"
    subprocess.run([program("gcc"), "-O1", "-fno-builtin-malloc", "-pthread", "-o", target, HERE / "early.c"], check=True)
    return str(target)


@pytest.mark.parametrize("scheme", ["nvm-direct", "zram"])
@pytest.mark.parametrize("how", ["threads", "fixed", *LONG, "clone"])
def test_what_was_reserved_early_is_managed(early, how, scheme):
    """Of 64 MiB, 2 at most were not managed, besides the pager's own tables."""
    run = watched([early, how], 16 * MIB, "--swap", scheme, timeout=120)
    assert (run.code, run.out) == (0, b"right\n"), (run.out, run.err, run.stood)
    assert run.stats["swap_outs"] > 5000, run.stats
    assert run.stats["unmanaged_peak_bytes"] - run.stats["own_bytes"] < 2 * MIB, run.stats
    if how == "clone":
        assert run.stats["forks"] == 5
        # A round evicts many pages, and none is taken for a page that a fork brings back.
        assert 0 < sum(row["rounds"] for row in run.stats["processes"]) < 1500, run.stats
    # Before it forks, a copying store brings everything back to DRAM.
    if how != "clone" or scheme == "nvm-direct":
        assert_the_budget_holds(run, 16 * MIB)
