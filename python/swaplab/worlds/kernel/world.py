"""The interface of the world `kernel`: runs experiments on the target that they name."""

from __future__ import annotations

from swaplab.core.errors import BadInput
from swaplab.core.model import Experiment
from swaplab.worlds.kernel.target import registry
from swaplab.worlds.result import Options, WorldResult

#: Concurrent runs on one machine would disturb each other's measurements.
PARALLEL = False


def batches(points: list[Experiment]) -> list[list[int]]:
    """Put each point in a separate batch: points share no work, and a stopped run loses at most
    one.
    """
    return [[index] for index in range(len(points))]


def run(points: list[Experiment], options: Options) -> WorldResult:
    """Measure every design at every point. Rows are in the order of points, then of designs."""
    wanted = {options.target or point.run.kernel.target for point in points}
    if len(wanted) > 1:
        raise BadInput(f"run.kernel.target: {' and '.join(sorted(wanted))}; expected one target for all points")
    return registry.run(wanted.pop(), points, options)
