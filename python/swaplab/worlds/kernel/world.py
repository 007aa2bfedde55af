"""The kernel as a world: experiments in, rows out, on the target that they name."""

from __future__ import annotations

from swaplab.core.errors import BadInput
from swaplab.core.model import Experiment
from swaplab.worlds.kernel.target import registry
from swaplab.worlds.result import Options, WorldResult

KEY = "kernel"
#: Runs that share a machine would measure one another.
PARALLEL = False


def batches(points: list[Experiment]) -> list[list[int]]:
    """Points share no work: each is a batch of its own, so that a run that is stopped loses one at most."""
    return [[index] for index in range(len(points))]


def run(points: list[Experiment], options: Options) -> WorldResult:
    """Measure every design at every point; rows in that order."""
    wanted = {options.target or point.run.kernel.target for point in points}
    if len(wanted) > 1:
        raise BadInput(f"run.kernel.target: {' and '.join(sorted(wanted))}; expected one target for all points")
    return registry.run(wanted.pop(), points, options)
