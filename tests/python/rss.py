"""Monitoring of a paged program from outside: samples of the kernel's count of its anonymous
memory, and its account while stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from swaplab._core import pager_account
from swaplab.worlds.memory.pager import runs_directory

SWAPLAB = Path(sys.executable).parent / "swaplab"
MIB = 1 << 20
#: Time between two samples of a process's memory, in seconds, and the number of samples between two
#: stops of it; the first sample stops it.
EVERY, STOPS = 0.01, 25
#: The largest part of the budget that may be excused as written while the host had taken the
#: pager's processor away.
MOST_LATE = 0.5


@dataclass
class Watched:
    """The result of a run: output, peak anonymous bytes of each process, and the accounts taken
    while it was stopped.
    """

    code: int = 0
    out: bytes = b""
    err: bytes = b""
    seconds: float = 0.0
    anonymous: dict[int, int] = field(default_factory=dict)
    accounts: list[tuple[int, int, int]] = field(default_factory=list)
    stats: dict = field(default_factory=dict)
    #: Where each thread stood when the time was up; empty for a run that ended by itself.
    stood: str = ""


def rss_anon(pid: int) -> int:
    """Read the kernel's `RssAnon` of a process, in bytes; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("RssAnon:")), 0)


def descendants(pid: int) -> list[int]:
    """List all descendants of a process."""
    found = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    except OSError:
        pass
    return found


def counters_of(run: int, pid: int) -> list[Path]:
    """List the counter files of a paged process, one per program that it has executed."""
    try:
        return list((runs_directory() / str(run)).rglob(f"{pid}-*"))
    except FileNotFoundError:  # the run has ended meanwhile
        return []


def where_threads_stand(run: subprocess.Popen) -> str:
    """Name the kernel function and the system call in which each thread of a run waits, one line
    for each thread.
    """
    lines = [f"{run.pid} has {'not ended' if run.poll() is None else f'ended with {run.returncode}'}"]
    for pid in [run.pid, *descendants(run.pid)]:
        with contextlib.suppress(OSError):
            for task in sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda task: int(task.name)):
                name, state = (task / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                waits = [(task / file).read_text().strip().replace("\n", " ") for file in ("wchan", "syscall")]
                lines.append(" ".join([str(pid), task.name, name, state.split()[0], *waits]))
    return "\n".join(lines)


def stopped_account(run: int, pid: int) -> tuple[int, int, int] | None:
    """Read managed, unmanaged and the kernel's total anonymous bytes of a paged process while all
    its threads are stopped.
    """
    try:
        os.kill(pid, signal.SIGSTOP)
        for _ in range(200):
            states = [(task / "stat").read_text().rsplit(")", 1)[1].split()[0] for task in Path(f"/proc/{pid}/task").iterdir()]
            if all(state == "T" for state in states):
                break
            time.sleep(0.0005)
        else:
            return None
        account = pager_account(pid, max(counters_of(run, pid), key=lambda f: f.stat().st_ctime_ns))
        return account and (account[0], account[1], rss_anon(pid))
    except OSError:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def watched(
    command: list[str],
    dram: int | None,
    *options: str,
    given: bytes = b"",
    timeout: float = 300,
    use: Callable[[], None] | None = None,
    **more,
) -> Watched:
    """Run a command natively, or on `dram` bytes, and sample every process of it each 10 ms. A
    server runs until `use` returns.

    A run that has not ended after `timeout` seconds is killed, and the result says where it
    stood."""
    seen = Watched()
    with tempfile.TemporaryDirectory() as place:
        stats = Path(place) / "stats.json"
        prefix = [] if dram is None else [SWAPLAB, "exec", "--dram", f"{dram}B", "--stats", stats, *options, "--"]
        start, said = time.monotonic(), []
        run = subprocess.Popen(
            [*prefix, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **more
        )

        def to_the_end() -> None:
            if use is not None:
                try:
                    use()
                finally:
                    run.terminate()
            said.append(run.communicate(given))

        talk = threading.Thread(target=to_the_end)
        talk.start()
        looks: dict[int, int] = {}
        while talk.is_alive():
            if time.monotonic() - start > timeout:
                seen.stood = seen.stood or where_threads_stand(run)
                for pid in [run.pid, *descendants(run.pid)]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            # Before its exec, a child of `swaplab exec` is still a copy of swaplab.
            started = [pid for pid in descendants(run.pid) if dram is None or counters_of(run.pid, pid)]
            for pid in [*started, *([run.pid] if dram is None else [])]:
                seen.anonymous[pid] = max(seen.anonymous.get(pid, 0), rss_anon(pid))
                if dram is not None and looks.get(pid, 0) % STOPS == 0 and (account := stopped_account(run.pid, pid)):
                    seen.accounts.append(account)
                looks[pid] = looks.get(pid, 0) + 1
            time.sleep(EVERY)
        seen.seconds = time.monotonic() - start
        (seen.out, seen.err), seen.code = said[0], run.returncode
        if stats.exists():
            seen.stats = json.loads(stats.read_text())
    return seen


def assert_the_budget_holds(run: Watched, dram: int) -> None:
    """Assert that something was swapped out, that the account closes at each stop, and that every
    paged process stayed within the budget, 5 %, its unmanaged memory and what was written while the
    pager got no processor or was slowed down ([`MOST_LATE`] of the budget at most)."""
    rows = run.stats["processes"]
    assert rows, "no process was paged"
    assert run.stats["swap_outs"] > 0, run.stats
    sampled = {row["pid"] for row in rows if row["swap_outs"]} & run.anonymous.keys()
    assert sampled, ("no process that was paged has been sampled", rows, run.anonymous)
    for pid in {row["pid"] for row in rows} & run.anonymous.keys():
        own = [row for row in rows if row["pid"] == pid]
        excused = max(row["unmanaged_peak_bytes"] + min(row["late_peak_bytes"], MOST_LATE * dram) for row in own)
        allowed = 1.05 * dram + excused
        assert run.anonymous[pid] <= allowed, (pid, run.anonymous[pid] / MIB, dram / MIB, own)
    assert run.accounts, "no paged process has been stopped, so no account was taken"
    for managed, unmanaged, anonymous in run.accounts:
        assert abs(managed + unmanaged - anonymous) <= max(anonymous / 100, MIB), (managed, unmanaged, anonymous)
