"""One configuration of a run: a design at a point of the experiment, with everything about it resolved before the machine is touched."""

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
    """A design at a point. `point` counts the experiments that a run was given."""

    point: int
    experiment: Experiment
    design: Design
    apps: list[App]
    swap: Swap

    @classmethod
    def of(cls, point: int, experiment: Experiment, design: Design, apps: list[App]) -> Configuration:
        """The configuration with its scheme resolved; a swap area needs a size on a real machine."""
        place = f"{experiment.name}: design '{design.name}': swap"
        swap = Swap.resolve(place, design.swap, memory_bytes(experiment))
        if swap.areas and swap.sizes[swap.areas[0].parameter] is None:
            raise BadInput(f"{place}: {swap.text} is unlimited; expected a size on a real kernel, such as {swap.key}:size=64MiB")
        made = cls(point, experiment, design, apps, swap)
        made.killer(made.memory)  # a killer or app policy that can't be meant is told now
        made.app_policy()
        return made

    @property
    def place(self) -> str:
        """What messages call it."""
        return f"{self.experiment.name}: design '{self.design.name}'"

    @property
    def memory(self) -> int:
        """Bytes of `machine.dram`."""
        return memory_bytes(self.experiment)

    @property
    def table(self) -> LaunchTable:
        """How the apps are launched."""
        return launch_table(self.experiment)

    @cached_property
    def order(self) -> list[str]:
        """The apps' names in the order of one round."""
        return launch_order(self.table, self.apps)

    @cached_property
    def foreground_s(self) -> float:
        """Seconds that an app is used for after its launch."""
        return span_seconds("workload.launches.foreground", self.table.foreground)

    @property
    def swappiness(self) -> int:
        """`machine.kernel.swappiness`, or what this machine has."""
        wanted = self.experiment.machine.kernel.swappiness
        return int(read("/proc/sys/vm/swappiness") or 60) if wanted is None else wanted

    @property
    def read_ahead_kib(self) -> int:
        """Most that a read of a file reads ahead."""
        return size_bytes("machine.kernel.read_ahead", self.experiment.machine.kernel.read_ahead) // 1024

    @property
    def killer_spec(self) -> OneOrMany:
        """The killer: the design's own, else the machine's."""
        own = self.design.killer
        return self.experiment.machine.killer if own is None else own

    def killer(self, limit: int) -> KillerRule:
        """The killer's rule for apps that are limited to so many bytes."""
        return KillerRule(f"{self.place}: killer", json.dumps(self.killer_spec), limit)

    def app_policy(self) -> AppPolicyRule:
        """The app policy with no launches in its history."""
        return AppPolicyRule(f"{self.place}: app_policy", json.dumps(self.design.app_policy))

    @cached_property
    def steers(self) -> bool:
        """Whether the app policy decides about each app, which then needs memory of its own."""
        return self.app_policy().steers


def memory_bytes(experiment: Experiment) -> int:
    """Bytes of `machine.dram`."""
    return size_bytes("machine.dram", experiment.machine.dram or "")


def configurations(points: list[Experiment]) -> list[Configuration]:
    """Every design at every point, in the order of the experiments."""
    listed = []
    for number, experiment in enumerate(points):
        apps = load_apps(experiment)
        listed += [Configuration.of(number, experiment, design, apps) for design in experiment.design]
    return listed
