"""A2S on a stock kernel: after each launch, say for each app whether the kernel may swap its pages out.

What: the app policy (ESS, LVSP or both: `crates/apps`) decides; each app's own memory.swappiness (version 1) or memory.swap.max
(version 2) carries it out.
Why: to see what A2S gives without patching the kernel.
Source: A2S (Kim et al. 2017), Section 4, Algorithm 1.
Deviations: decided at each launch for a whole app, where A2S decides at each victim page; pages shared by apps follow the group they are
charged to; swappiness 0 still lets a cornered kernel swap in rare cases; there is no home screen to count among the living apps.
Weakness: a group that may not swap is reclaimed from its file pages alone, and the killer comes sooner.
"""

from __future__ import annotations

from dataclasses import dataclass

from swaplab._core import AppPolicyRule
from swaplab.worlds.kernel.process import Process


@dataclass(frozen=True)
class Steering:
    """The app policy, and the processes that it decides about by their place in the list."""

    policy: AppPolicyRule
    processes: list[Process]
    swappiness: int
    has_swap: bool

    def launched(self, process: Process) -> None:
        """The user brought this app to the front."""
        self.policy.launched(self.processes.index(process))

    def swappable(self) -> list[Process]:
        """The living apps whose pages may be swapped out now."""
        alive = sum(process.alive for process in self.processes)
        return [process for number, process in enumerate(self.processes) if process.alive and self.policy.may_swap_out(alive, number)]

    def apply(self) -> None:
        """Set every app's group."""
        if not self.policy.steers or not self.has_swap:
            return
        alive = sum(process.alive for process in self.processes)
        for number, process in enumerate(self.processes):
            process.group.swap_allowed(self.policy.may_swap_out(alive, number), self.swappiness)

    def swappable_bytes(self) -> int | None:
        """Resident anonymous bytes of the apps that may be swapped out now; None where all may."""
        if not self.policy.steers:
            return None
        return sum(process.group.stat().get("anon", 0) for process in self.swappable())
