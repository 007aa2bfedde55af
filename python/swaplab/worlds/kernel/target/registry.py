"""The registry of targets: the part of `run.kernel.target` before the colon, and the function that
runs experiments there.
"""

from __future__ import annotations

from collections.abc import Callable

from swaplab.core.errors import BadInput
from swaplab.core.model import Experiment
from swaplab.worlds.kernel.target import adb, local, ssh
from swaplab.worlds.result import Options, WorldResult

#: The functions' parameters: the address after the colon (a host or a serial number), the
#: experiments, the options.
TARGETS: dict[str, Callable[[str, list[Experiment], Options], WorldResult]] = {"local": local.run, "ssh": ssh.run, "adb": adb.run}
#: Targets with an address: a host; or a serial number, which may be omitted if there is one phone.
ADDRESSED = ("ssh", "adb")


def split(target: str) -> tuple[str, str]:
    """Split a target into (kind, address). Raises BadInput for an invalid one."""
    kind, colon, at = target.partition(":")
    is_valid = kind in TARGETS and not (colon and kind not in ADDRESSED) and not (colon and not at)
    if not is_valid or at.startswith("-") or (kind == "ssh" and not at):
        raise BadInput(f"run.kernel.target: '{target}'; expected local, ssh:HOST, adb or adb:SERIAL")
    return kind, at


def run(target: str, points: list[Experiment], options: Options) -> WorldResult:
    """Run the experiments on a target."""
    kind, at = split(target)
    if kind == "adb" and any(point.run.kernel.events for point in points):
        raise BadInput("run.kernel.events: a phone's events are not recorded; expected false for target adb")
    return TARGETS[kind](at, points, options)
