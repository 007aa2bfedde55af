"""Every target, a line each: what is before the colon of `run.kernel.target`, and the function that runs experiments there."""

from __future__ import annotations

from collections.abc import Callable

from swaplab.core.errors import BadInput
from swaplab.core.model import Experiment
from swaplab.worlds.kernel.target import adb, local, ssh
from swaplab.worlds.result import Options, WorldResult

#: What follows the colon (a host, a serial number), the experiments and how they are run.
TARGETS: dict[str, Callable[[str, list[Experiment], Options], WorldResult]] = {"local": local.run, "ssh": ssh.run, "adb": adb.run}
#: Targets that say which of their kind: a host; a serial number, which may be left out where there is one phone.
ADDRESSED = ("ssh", "adb")


def split(target: str) -> tuple[str, str]:
    """(kind, address) of a target."""
    kind, colon, at = target.partition(":")
    known = kind in TARGETS and not (colon and kind not in ADDRESSED) and not (colon and not at)
    if not known or at.startswith("-") or (kind == "ssh" and not at):
        raise BadInput(f"target: '{target}'; expected local, ssh:HOST, adb or adb:SERIAL")
    return kind, at


def run(target: str, points: list[Experiment], options: Options) -> WorldResult:
    """Run the experiments on that target."""
    kind, at = split(target)
    if kind == "adb" and any(point.run.kernel.events for point in points):
        raise BadInput("run.kernel.events: a phone's events are not recorded; expected false for target adb")
    return TARGETS[kind](at, points, options)
