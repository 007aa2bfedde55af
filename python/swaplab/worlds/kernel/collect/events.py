"""Kernel events from ftrace: block requests, pages that reclaim writes, out-of-memory kills.

A run records into an ftrace instance of its own, so other users' tracing is not affected. If
tracefs is not mounted, the run mounts it.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.undo import RemoveInstance, Unmount, command, write
from swaplab.worlds.procfs import mounts

#: Events of swap-outs by task, and of the disk's requests.
EVENTS = (
    "block/block_rq_issue",
    "block/block_rq_complete",
    "vmscan/mm_vmscan_write_folio",
    "vmscan/mm_vmscan_memcg_reclaim_begin",
    "oom/mark_victim",
)
LINE = re.compile(r"^\s*(?P<task>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+(?P<time>\d+\.\d+): (?P<event>\w+): (?P<rest>.*)$")


@dataclass(frozen=True)
class Event:
    """A line of the trace."""

    time_s: float
    name: str
    task: str
    process: int
    rest: str


@dataclass(frozen=True)
class Recording:
    """A recording ftrace instance. Reading does not consume the trace."""

    path: Path

    def text(self) -> str:
        """Return all events recorded so far, in the format of
        `trace import --format ftrace-block`.
        """
        return (self.path / "trace").read_text(errors="replace") if (self.path / "trace").exists() else ""

    def clear(self) -> None:
        """Discard the events recorded so far."""
        (self.path / "trace").write_text("")

    def lost(self) -> int:
        """Count the events that the ring buffers overwrote or dropped."""
        files = self.path.glob("per_cpu/cpu*/stats")
        return sum(
            int(line.rsplit(":", 1)[1])
            for file in files
            for line in file.read_text().splitlines()
            if line.startswith(("overrun", "dropped"))
        )


def parse(text: str) -> list[Event]:
    """Parse the events of a trace text; other lines (the header) are skipped."""
    matches = (LINE.match(line) for line in text.splitlines())
    return [Event(float(m["time"]), m["event"], m["task"].strip(), int(m["pid"]), m["rest"]) for m in matches if m]


def count(events: list[Event]) -> dict[str, int]:
    """Count the events by name."""
    return dict(sorted(Counter(event.name for event in events).items()))


@contextmanager
def recording(machine: Machine, kilobytes: int = 4096) -> Iterator[Recording]:
    """Record those of EVENTS that this kernel has, into a buffer of `kilobytes` per processor."""
    with ExitStack() as stack:
        top = next((Path(point) for point, kind, _ in mounts() if kind == "tracefs"), Path("/sys/kernel/tracing"))
        if not any(kind == "tracefs" for _, kind, _ in mounts()):
            mount = ("mount", "-t", "tracefs", "tracefs", str(top))
            stack.enter_context(machine.step(" ".join(mount), lambda: command(*mount), Unmount(str(top))))
        at = top / "instances" / f"swaplab-{os.getpid()}"

        def start() -> None:
            at.mkdir()
            write(at / "buffer_size_kb", str(kilobytes))
            for event in EVENTS:
                if (at / "events" / event).exists():
                    write(at / "events" / event / "enable", "1")

        stack.enter_context(machine.step(f"mkdir {at}; enable {' '.join(EVENTS)}", start, RemoveInstance(str(at))))
        yield Recording(at)
