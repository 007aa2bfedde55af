"""A low-memory killer in user space, with lmkd's names. It really kills.

What: when two are at once of little memory, little swap and a thrashing file cache, the app used longest ago dies, all of it.
Why: without it the kernel's own killer decides at the limit, late and without knowing which app the user left longest ago.
Source: Android's lmkd: the properties ro.lmk.swap_free_low_percentage, ro.lmk.thrashing_limit and
ro.lmk.psi_partial_stall_ms, its kill reasons, its 10 ms poll.
Deviations: "low memory" is free memory plus file pages under a share of the group's limit, for a control group has no watermarks;
pressure is the machine's and polled, since version 1 groups have no pressure file.
Weakness: an app that takes memory faster than a poll lets the kernel's killer strike first; those kills are counted apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from swaplab.config import BenchKiller
from swaplab.live.bench.process import Process
from swaplab.live.capabilities import read
from swaplab.live.collect.counters import pressure
from swaplab.live.knobs.cgroup import Group


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

    settings: BenchKiller
    group: Group
    memory: int
    swap: int
    #: The apps alive, least dear first; the one in front is not among them.
    victims: Callable[[], Iterable[Process]]
    #: Resident anonymous bytes that the kernel may swap out, as far as an app policy leaves any.
    swappable: Callable[[], int]
    kills: list[Kill] = field(default_factory=list)
    _next_look: float = 0
    #: Off while the apps check their pages, which is no part of the experiment.
    armed: bool = True
    _window: tuple[float, int, int, int] = (0, 0, 0, 0)

    def tick(self) -> None:
        """Look, and kill at most one app."""
        now = time.monotonic()
        if now < self._next_look or not self.armed:
            return
        self._next_look = now + self.settings.poll_ms / 1000
        stat, usage = self.group.stat(), self.group.usage()
        reason = self.reason(now, stat, usage)
        victim = next(iter(self.victims()), None) if reason else None
        if victim is not None and reason is not None:
            victim.kill()
            self.kills.append(Kill(victim.app.name, reason, max(0, usage - self.group.usage()), now))

    def reason(self, now: float, stat: dict[str, int], usage: int) -> str | None:
        """Why an app must die now, by lmkd's names, or None."""
        files = stat.get("active_file", 0) + stat.get("inactive_file", 0)
        refaults = stat.get("workingset_refault_file", 0)
        if now - self._window[0] > 1:
            self._window = (now, refaults, files // 4096, stalled_us())
        low_memory = self.memory - usage + files < self.memory * self.settings.min_free_percentage / 100
        swap_free = self.swap - stat.get("swap", 0)
        low_swap = self.swap == 0 or swap_free < self.swap * self.settings.swap_free_low_percentage / 100
        low_swap = low_swap or (low_memory and self.swappable() < self.memory * self.settings.min_free_percentage / 100)
        thrashing = (refaults - self._window[1]) * 100 / (self._window[2] + 1) > self.settings.thrashing_limit
        thrashing = thrashing and stalled_us() - self._window[3] >= self.settings.psi_partial_stall_ms * 1000
        if low_memory and low_swap:
            return "LOW_MEM_AND_SWAP"
        if low_memory and thrashing:
            return "LOW_MEM_AND_THRASHING"
        if low_swap and thrashing:
            return "LOW_SWAP_AND_THRASHING"
        return None


def stalled_us() -> int:
    """Microseconds for which some task of the machine has waited for memory; without PSI, everything counts as stalled."""
    text = read("/proc/pressure/memory")
    return pressure(text).get("some", 0) if text else time.monotonic_ns() // 1000
