"""The world `replay`: the core replays a page trace with the code of policies and schemes."""

from __future__ import annotations

from swaplab import _core
from swaplab.core.experiment import dumped
from swaplab.core.model import Experiment
from swaplab.worlds.result import CoreResult, Options, WorldResult
from swaplab.worlds.traces import with_local_trace, workload_name

#: Points may run at the same time.
PARALLEL = True
#: Points that share one pass over a trace: enough that decoding costs little, few enough to
#: distribute over workers.
TOGETHER = 16


def batches(points: list[Experiment]) -> list[list[int]]:
    """Group points that share a trace, its reading options, the replay options and the seed, at
    most `TOGETHER` a batch.
    """
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
