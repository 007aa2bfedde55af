"""A2S on an unmodified kernel: after each launch, set for each app whether the kernel may swap its
pages out.

What: the app policy (ESS, LVSP or both: `crates/apps`) decides. The decision is applied to the
memory.swappiness (version 1) or memory.swap.max (version 2) of each app's control group.
Why: to measure the effect of A2S without patching the kernel.
Source: A2S (Kim et al. 2017), Section 4, Algorithm 1.
Deviations: it decides at each launch for a whole app, whereas A2S decides at each victim page.
Shared pages follow the group that they are charged to. With swappiness 0 the kernel may still swap
under severe pressure. No home screen is counted among the live apps.
Weakness: in a group that may not swap, only file-backed pages are reclaimed, and the killer acts
sooner.
"""

from __future__ import annotations

from dataclasses import dataclass

from swaplab._core import AppPolicyRule
from swaplab.worlds.kernel.process import Process


@dataclass(frozen=True)
class Steering:
    """The app policy, and the processes that it decides about, identified by their index in the
    list.
    """

    policy: AppPolicyRule
    processes: list[Process]
    swappiness: int
    has_swap: bool

    def launched(self, process: Process) -> None:
        """Tell the policy that this app was brought to the foreground."""
        self.policy.launched(self.processes.index(process))

    def swappable(self) -> list[Process]:
        """Return the live apps whose pages may be swapped out now."""
        alive = sum(process.alive for process in self.processes)
        return [process for number, process in enumerate(self.processes) if process.alive and self.policy.may_swap_out(alive, number)]

    def apply(self) -> None:
        """Apply the policy's decision to every app's group."""
        if not self.policy.steers or not self.has_swap:
            return
        alive = sum(process.alive for process in self.processes)
        for number, process in enumerate(self.processes):
            process.group.swap_allowed(self.policy.may_swap_out(alive, number), self.swappiness)

    def swappable_bytes(self) -> int | None:
        """Return the resident anonymous bytes of the apps that may be swapped out now; None if
        there is no restriction.
        """
        if not self.policy.steers:
            return None
        return sum(process.group.stat().get("anon", 0) for process in self.swappable())
