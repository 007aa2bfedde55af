"""One configuration of a run: a design at a point of the experiment, fully resolved before the
machine is changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from swaplab._core import AppPolicyRule, KillerRule, size_bytes, span_seconds
from swaplab.core.errors import BadInput
from swaplab.core.model import Design, Experiment, LaunchTable, OneOrMany
from swaplab.worlds.apps import App, launch_order, launch_table, load_apps
from swaplab.worlds.procfs import read
from swaplab.worlds.swap import Swap


@dataclass(frozen=True)
class Configuration:
    """A design at a point. `point` is the index of the point's experiment in the run."""

    point: int
    experiment: Experiment
    design: Design
    apps: list[App]
    swap: Swap

    @classmethod
    def of(cls, point: int, experiment: Experiment, design: Design, apps: list[App]) -> Configuration:
        """Resolve the design's scheme, killer and app policy. Raises BadInput for invalid ones, and
        for a swap area without a size.
        """
        place = f"{experiment.name}: design '{design.name}': swap"
        swap = Swap.resolve(place, design.swap, memory_bytes(experiment))
        if swap.areas and swap.sizes[swap.areas[0].parameter] is None:
            raise BadInput(f"{place}: {swap.text} is unlimited; expected a size on a real kernel, such as {swap.key}:size=64MiB")
        made = cls(point, experiment, design, apps, swap)
        made.killer(made.memory)  # raises BadInput for an invalid killer or app policy
        made.app_policy()
        return made

    @property
    def place(self) -> str:
        """The name of the configuration in messages."""
        return f"{self.experiment.name}: design '{self.design.name}'"

    @property
    def memory(self) -> int:
        """Bytes of `machine.dram`."""
        return memory_bytes(self.experiment)

    @property
    def table(self) -> LaunchTable:
        """The experiment's table of launches."""
        return launch_table(self.experiment)

    @cached_property
    def order(self) -> list[str]:
        """The names of the apps in the order of one round."""
        return launch_order(self.table, self.apps)

    @cached_property
    def foreground_s(self) -> float:
        """Seconds of use in the foreground after each launch."""
        return span_seconds("workload.launches.foreground", self.table.foreground)

    @property
    def swappiness(self) -> int:
        """`machine.kernel.swappiness`, by default this machine's value."""
        wanted = self.experiment.machine.kernel.swappiness
        return int(read("/proc/sys/vm/swappiness") or 60) if wanted is None else wanted

    @property
    def request_kib(self) -> int | None:
        """KiB of the largest request to storage, if the experiment gives it."""
        size = self.experiment.machine.kernel.max_request
        return None if size is None else size_bytes("machine.kernel.max_request", size) // 1024

    @property
    def read_ahead_kib(self) -> int:
        """Maximum readahead of file reads, in KiB."""
        return size_bytes("machine.kernel.read_ahead", self.experiment.machine.kernel.read_ahead) // 1024

    @property
    def killer_spec(self) -> OneOrMany:
        """The design's killer, by default the machine's."""
        own = self.design.killer
        return self.experiment.machine.killer if own is None else own

    def killer(self, limit: int) -> KillerRule:
        """Build the killer's rule for apps with a memory limit of `limit` bytes."""
        return KillerRule(f"{self.place}: killer", json.dumps(self.killer_spec), limit)

    def app_policy(self) -> AppPolicyRule:
        """Build the app policy, with an empty history of launches."""
        return AppPolicyRule(f"{self.place}: app_policy", json.dumps(self.design.app_policy))

    @cached_property
    def steers(self) -> bool:
        """Whether the app policy decides app by app, so that each app needs a memory control group
        of its own.
        """
        return self.app_policy().steers


def memory_bytes(experiment: Experiment) -> int:
    """Bytes of `machine.dram`."""
    return size_bytes("machine.dram", experiment.machine.dram or "")


def configurations(points: list[Experiment]) -> list[Configuration]:
    """Resolve every design at every point, in the order of the experiments."""
    listed = []
    for number, experiment in enumerate(points):
        apps = load_apps(experiment)
        listed += [Configuration.of(number, experiment, design, apps) for design in experiment.design]
    return listed
