"""`swaplab exec` on programs that fork while other threads hold their allocator's lock."""

from __future__ import annotations

import json
import subprocess

import pytest
from test_run import HERE, paged, program, pytestmark  # noqa: F401


@pytest.mark.parametrize("scheme", ["nvm-direct", "nvm-copy"])
def test_an_allocator_with_fork_handlers_of_its_own_is_no_deadlock(tmp_path, scheme):
    """The program registers its handlers before the preloaded library starts, as Chromium's
    allocator does. A fork locks the allocator first and the pager last, as `mmap` under the
    allocator's lock does; the other way round, this program stands still at once."""
    target = tmp_path / "atfork"
    subprocess.run([program("gcc"), "-O1", "-pthread", "-o", target, HERE / "atfork.c"], check=True)
    run = paged([str(target)], "8MiB", "--swap", scheme, stats=tmp_path / "s.json", timeout=60)
    assert (run.returncode, run.stdout) == (0, b"20\n"), run.stderr
    stats = json.loads((tmp_path / "s.json").read_text())
    assert stats["forks"] >= 20 and stats["swap_outs"] > 0, stats


@pytest.mark.parametrize("words", [[], ["fork"]], ids=["alone", "fork"])
@pytest.mark.parametrize("scheme", ["nvm-direct", pytest.param("nvm-copy", marks=pytest.mark.long)])
def test_a_process_ends_with_its_last_thread(tmp_path, scheme, words):
    """The C library counts threads, and ends a process when none is left. The pager thread is none
    of the program's.
    """
    target = tmp_path / "last"
    subprocess.run([program("gcc"), "-O1", "-pthread", "-o", target, HERE / "last.c"], check=True)
    native = subprocess.run([target, *words], capture_output=True, timeout=20)
    assert native.returncode == 0 and native.stdout.endswith(b"19\nexit\n")
    run = paged([str(target), *words], "4MiB", "--swap", scheme, stats=tmp_path / "s.json", timeout=20)
    assert (run.returncode, run.stdout) == (0, native.stdout), run.stderr
    processes = json.loads((tmp_path / "s.json").read_text())["processes"]
    assert len(processes) == 1 + len(words) and all(process["swap_outs"] > 1000 for process in processes)
