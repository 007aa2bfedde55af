"""The low-memory killer at work: it looks at the apps' control group, and really kills.

What: every `poll_ms` the group's memory, file pages, swap and stalls of the last second are read; the rule (`crates/apps`, the same in
every world) says how important an app must be to be spared; the least recently used of the others dies, all of it.
Why: without it the kernel's own killer decides at the limit, late and without knowing which app the user left longest ago.
Source: Android's lmkd and the kernel driver lowmemorykiller.
Deviations: a control group has no watermarks, so low memory is a level or a share of its limit; pressure is the machine's and polled, since
version 1 groups have no pressure file. Swap that an app policy lets nobody use counts as full: here the kernel finds nothing to swap out.
Weakness: an app that takes memory faster than a poll lets the kernel's killer strike first; those kills are counted apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from swaplab._core import KillerRule
from swaplab.worlds.kernel.collect.counters import pressure
from swaplab.worlds.kernel.knobs.cgroup import Group
from swaplab.worlds.kernel.process import Process
from swaplab.worlds.procfs import PAGE, read

#: Seconds over which stalls are counted.
WINDOW_S = 1.0
LOW_MEMORY, CACHED_LIMIT, OUT_OF_MEMORY = "low-memory", "cached-limit", "out-of-memory"


@dataclass(frozen=True)
class Kill:
    """One app that died."""

    app: str
    reason: str
    freed_bytes: int
    #: By the monotonic clock.
    at_s: float


@dataclass
class LowMemoryKiller:
    """Looks at the group when `tick` is called, at most every `poll_ms`."""

    rule: KillerRule
    group: Group
    memory: int
    swap: int
    #: Living apps of at least this `oom_score_adj`, the one used longest ago first.
    victims: Callable[[int], Iterable[Process]]
    #: Resident anonymous bytes that an app policy lets the kernel swap out; None where it has no say.
    swappable: Callable[[], int | None]
    kills: list[Kill] = field(default_factory=list)
    #: Off while the apps check their pages, which is no part of the experiment.
    armed: bool = True
    _next_look: float = 0
    #: When the window began, and stalled microseconds then.
    _window: tuple[float, int] = (0, 0)

    def tick(self) -> None:
        """Look, and kill at most one app."""
        now = time.monotonic()
        if now < self._next_look or not self.armed:
            return
        self._next_look = now + self.rule.poll_ms / 1000
        stat, usage = self.group.stat(), self.group.usage()
        least = self.kills_from(now, stat, usage)
        victim = next(iter(self.victims(least)), None) if least is not None else None
        if victim is not None:
            victim.kill()
            self.rule.killed()
            self.kills.append(Kill(victim.app.name, LOW_MEMORY, max(0, usage - self.group.usage()), now))

    def kills_from(self, now: float, stat: dict[str, int], usage: int) -> int | None:
        """The least `oom_score_adj` that may be killed at this moment, by the group's counts; None if nobody may."""
        stalled = stalled_us()
        if now - self._window[0] > WINDOW_S:
            self._window = (now, stalled)
        files = stat.get("active_file", 0) + stat.get("inactive_file", 0)
        return self.rule.look(
            now,
            free_kb=max(0, self.memory - usage) // 1024,
            file_kb=files // 1024,
            anon_kb=(stat.get("active_anon", 0) + stat.get("inactive_anon", 0)) // 1024,
            stall_ms=(stalled - self._window[1]) // 1000,
            file_refaults_kb=stat.get("workingset_refault_file", 0) * PAGE // 1024,
            swap_total_kb=self.swap // 1024,
            swap_free_kb=self._swap_free_bytes(stat) // 1024,
        )

    def _swap_free_bytes(self, stat: dict[str, int]) -> int:
        swappable = self.swappable()
        if swappable is not None and swappable < self.rule.low_memory_bytes:
            return 0
        return max(0, self.swap - stat.get("swap", 0))


def stalled_us() -> int:
    """Microseconds for which some task of the machine has waited for memory; without PSI, everything counts as stalled."""
    text = read("/proc/pressure/memory")
    return pressure(text).get("some", 0) if text else time.monotonic_ns() // 1000
