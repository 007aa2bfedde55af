"""A2S on a stock kernel: after each launch, say for each app whether the kernel may swap its pages out.

What: ESS (no swapping while enough apps are alive) and LVSP (no swapping of an app whose average reuse distance is long), steered
through each app's own memory.swappiness (version 1) or memory.swap.max (version 2).
Why: to see what A2S gives without patching the kernel.
Source: A2S, Section 4, Algorithm 1; T_live 18, T_reuse 64, T_launched 3; the current average counts the launches since the last one.
Deviations: decided at each launch for a whole app, where A2S decides at each victim page; pages shared by apps follow the group
they are charged to; swappiness 0 still lets a cornered kernel swap in rare cases.
Weakness: a group that may not swap is reclaimed from its file pages alone, and the killer comes sooner.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from swaplab.live.bench.process import Process

T_LIVE, T_REUSE, T_LAUNCHED = 18, 64.0, 3


@dataclass
class Steering:
    """The launch history, and what follows from it for each app."""

    policy: str
    swappiness: int
    has_swap: bool
    t_live: int = T_LIVE
    t_reuse: float = T_REUSE
    t_launched: int = T_LAUNCHED
    #: Launch numbers of each app.
    history: dict[str, list[int]] = field(default_factory=dict)
    _count: int = 0

    def launched(self, name: str) -> None:
        """The user brought this app to the front."""
        self.history.setdefault(name, []).append(self._count)
        self._count += 1

    def distance(self, name: str) -> float:
        """The current average reuse distance: other launches between two launches of the app, as if it were launched now."""
        at = self.history.get(name, [])
        if not at:
            return float("inf")
        gaps = [later - earlier - 1 for earlier, later in zip(at, at[1:], strict=False)]
        average = sum(gaps) / len(gaps) if gaps else 0.0
        since = self._count - 1 - at[-1]
        return (len(at) * average + since) / (len(at) + 1)

    def may_swap(self, name: str, alive: int) -> bool:
        """Whether the kernel may swap this app's pages out now."""
        if self.policy in ("ess", "a2s") and alive >= self.t_live:
            return False
        if self.policy in ("lvsp", "a2s"):
            return len(self.history.get(name, [])) >= self.t_launched and self.distance(name) < self.t_reuse
        return True

    def apply(self, processes: Iterable[Process]) -> None:
        """Set every app's group."""
        if self.policy == "none" or not self.has_swap:
            return
        everyone = list(processes)
        alive = sum(process.alive for process in everyone)
        for process in everyone:
            process.group.swap_allowed(self.may_swap(process.app.name, alive), self.swappiness)

    def swappable(self, processes: Iterable[Process]) -> int:
        """Resident anonymous bytes of the apps that may be swapped out now."""
        everyone = list(processes)
        alive = sum(process.alive for process in everyone)
        if self.policy == "none":
            return 1 << 60
        return sum(process.group.stat().get("anon", 0) for process in everyone if process.alive and self.may_swap(process.app.name, alive))
