"""`swaplab exec` on address space that a program reserves and commits in parts: no data is lost,
and the budget holds.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from rss import MIB, assert_the_budget_holds, watched
from test_run import HERE, program, pytestmark  # noqa: F401

RUNS = 200 if "SWAPLAB_SOAK_SECONDS" in os.environ else 4


@pytest.fixture(scope="session")
def reserve(tmp_path_factory) -> str:
    """A program that allocates memory in every way except malloc and checks the content of each
    page.
    """
    target = tmp_path_factory.mktemp("reserve") / "reserve"
    subprocess.run([program("gcc"), "-O1", "-pthread", "-o", target, HERE / "reserve.c"], check=True)
    return str(target)


@pytest.mark.parametrize("scheme", ["nvm-direct", pytest.param("zram", marks=pytest.mark.long)])
@pytest.mark.parametrize("how", ["protect", "fixed", "hint", "raw", "thread"])
def test_reserved_memory_is_managed_without_loss(reserve, how, scheme):
    """Reservations of 8 GiB committed in parts, guard pages, freed parts, and code, through the C
    library and by direct system calls. The case `thread` makes these in a thread that
    `thrd_create` created, after `signal` has set what SIGSYS does.
    """
    run = watched([reserve, how, "3000", "5"], 16 * MIB, "--swap", scheme, timeout=120)
    assert (run.code, run.out) == (0, f"{how} right\n".encode()), (run.out, run.err)
    assert_the_budget_holds(run, 16 * MIB)
    assert run.stats["swap_outs"] > 5000 and run.accounts, run.stats


def test_a_thread_with_system_calls_of_its_own_does_not_stand_still(reserve):
    """The C library's table of a thread's variables is managed memory. A handler that reads it
    while it has the pager's state locked waits for the pager, which waits for the lock: two of
    three runs did.
    """
    for seed in range(RUNS):
        run = watched([reserve, "thread", "1000", str(seed + 1)], 16 * MIB, "--swap", "zram", timeout=60)
        assert (run.code, run.out) == (0, b"thread right\n"), (seed, run.out, run.err, run.stood)
        assert run.stats["swap_outs"] > 1000, run.stats
