"""Where batches of points run. Workers know only `work`: one batch in, rows out, nothing kept. So it does not matter where they run, in
which order, or whether one is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from swaplab.core.model import Experiment
from swaplab.worlds.registry import world
from swaplab.worlds.result import Options, WorldResult

#: A world's key, and points by index as the JSON form of their experiments.
Batch = tuple[str, list[tuple[int, str]]]
Runner = Callable[[list[Batch], Options], Iterator[tuple[Batch, WorldResult]]]


def work(batch: Batch, options: Options) -> WorldResult:
    """Run one batch: a pure function, so any worker may do it, and again."""
    key, points = batch
    return world(key).run([Experiment.model_validate_json(text) for _, text in points], options)


def work_alone(batch: Batch) -> WorldResult:
    """Run one batch on one thread, as a worker among others does."""
    return work(batch, Options(jobs=1))


def in_this_process(batches: list[Batch], options: Options) -> Iterator[tuple[Batch, WorldResult]]:
    """One batch after the other."""
    quiet = Options(**{**vars(options), "listener": None})
    for batch in batches:
        yield batch, work(batch, quiet)
