"""The world `replay`: a page trace through the policies' and schemes' own code, by the core."""

from __future__ import annotations

from swaplab import _core
from swaplab.core.experiment import dumped
from swaplab.core.model import Experiment
from swaplab.worlds.result import CoreResult, Options, WorldResult
from swaplab.worlds.traces import with_local_trace, workload_name

KEY = "replay"
#: Points may run at the same time.
PARALLEL = True
#: So many points go over a trace together: enough that decoding costs little, few enough to share out among workers.
TOGETHER = 16


def batches(points: list[Experiment]) -> list[list[int]]:
    """Indices of points that are run together: those of one trace, read in one way."""
    groups: dict[tuple[str | None, str, str, int], list[int]] = {}
    for index, point in enumerate(points):
        key = (point.workload.trace, dumped(point.workload.reading), dumped(point.run.replay), point.run.seed)
        groups.setdefault(key, []).append(index)
    return [group[at : at + TOGETHER] for group in groups.values() for at in range(0, len(group), TOGETHER)]


def run(points: list[Experiment], options: Options) -> WorldResult:
    """Replay every design at every point."""
    texts = [dumped(with_local_trace(point)) for point in points]
    result = CoreResult.model_validate_json(_core.replay_rows(texts, options.jobs, options.listener))
    rows = result.rows
    per_point = len(rows) // max(len(points), 1)
    for index, row in enumerate(rows):
        row.workload = workload_name(points[index // per_point].workload.trace or "")
    return WorldResult(rows, warnings=result.warnings)
