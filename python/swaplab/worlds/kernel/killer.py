"""The low-memory killer, which polls the apps' control group and kills apps.

What: every `poll_ms`, it reads the group's memory, file pages, swap and stalls of the last second.
The rule (`crates/apps`, shared by all worlds) returns the least `oom_score_adj` that may be killed.
All processes of the least recently used such app are killed.
Why: without it, the kernel's killer decides at the limit, which is late, and does not know which
app is least recently used.
Source: Android's lmkd and the kernel driver lowmemorykiller.
Deviations: a control group has no watermarks, so low memory is a level or a share of its limit.
Pressure is polled and that of the machine, since version 1 groups have no pressure file. Swap that
the app policy allows no app to use counts as full: the kernel can swap nothing out.
Weakness: if an app allocates faster than the killer polls, the kernel's killer acts first; its
kills are counted separately.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from swaplab._core import KillerRule
from swaplab.worlds.kernel.collect.counters import pressure
from swaplab.worlds.kernel.knobs.cgroup import Group
from swaplab.worlds.kernel.process import Process
from swaplab.worlds.procfs import PAGE, read

#: Length in seconds of the window over which stalls are counted.
WINDOW_S = 1.0
LOW_MEMORY, CACHED_LIMIT, OUT_OF_MEMORY = "low-memory", "cached-limit", "out-of-memory"


@dataclass(frozen=True)
class Kill:
    """A killed app."""

    app: str
    reason: str
    freed_bytes: int
    #: Time by the monotonic clock.
    at_s: float


@dataclass
class LowMemoryKiller:
    """A killer that checks the group when `tick` is called, at most every `poll_ms`."""

    rule: KillerRule
    group: Group
    memory: int
    swap: int
    #: Returns the live apps of at least this `oom_score_adj`, least recently used first.
    victims: Callable[[int], Iterable[Process]]
    #: Returns the resident anonymous bytes that the app policy lets the kernel swap out; None if
    #: there is no app policy.
    swappable: Callable[[], int | None]
    kills: list[Kill] = field(default_factory=list)
    #: False while the apps check their pages, which is not part of the experiment.
    armed: bool = True
    _next_poll: float = 0
    #: Start of the window, and the stall total in microseconds at that time.
    _window: tuple[float, int] = (0, 0)

    def tick(self) -> None:
        """Check the group, and kill at most one app."""
        now = time.monotonic()
        if now < self._next_poll or not self.armed:
            return
        self._next_poll = now + self.rule.poll_ms / 1000
        stat, usage = self.group.stat(), self.group.usage()
        least = self.kills_from(now, stat, usage)
        victim = next(iter(self.victims(least)), None) if least is not None else None
        if victim is not None:
            victim.kill()
            self.rule.killed()
            self.kills.append(Kill(victim.app.name, LOW_MEMORY, max(0, usage - self.group.usage()), now))

    def kills_from(self, now: float, stat: dict[str, int], usage: int) -> int | None:
        """Return the least `oom_score_adj` that may be killed now, given the group's counts; None
        if no app may be killed.
        """
        stalls = read("/proc/pressure/memory")
        stalled = stalled_us(stalls)
        if now - self._window[0] > WINDOW_S:
            self._window = (now, stalled)
        files = stat.get("active_file", 0) + stat.get("inactive_file", 0)
        return self.rule.look(
            now,
            free_kb=max(0, self.memory - usage) // 1024,
            file_kb=files // 1024,
            anon_kb=(stat.get("active_anon", 0) + stat.get("inactive_anon", 0)) // 1024,
            stall_ms=(stalled - self._window[1]) // 1000,
            full_avg10=full_avg10(stalls),
            file_refaults_kb=stat.get("workingset_refault_file", 0) * PAGE // 1024,
            swap_total_kb=self.swap // 1024,
            swap_free_kb=self._swap_free_bytes(stat) // 1024,
        )

    def _swap_free_bytes(self, stat: dict[str, int]) -> int:
        swappable = self.swappable()
        if swappable is not None and swappable < self.rule.low_memory_bytes:
            return 0
        return max(0, self.swap - stat.get("swap", 0))


def full_avg10(text: str) -> float:
    """Parse the percentage of time in which all tasks have stalled on memory, as the kernel
    averages it over ten seconds, from the text of a pressure file; 0 without PSI.
    """
    found = re.search(r"^full avg10=([\d.]+)", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def stalled_us(text: str) -> int:
    """Parse the microseconds in which some task has stalled on memory from the text of a pressure
    file; without PSI, all time counts as stalled.
    """
    return pressure(text).get("some", 0) if text else time.monotonic_ns() // 1000
