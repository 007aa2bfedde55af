"""Runners of batches of points. Workers call `work`, which takes a batch, returns rows and keeps no
state. So batches may run anywhere, in any order, and again if a worker is lost.
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
    """Run one batch. It is a pure function, so any worker can execute it, repeatedly."""
    key, points = batch
    return world(key).run([Experiment.model_validate_json(text) for _, text in points], options)


def work_on_one_thread(batch: Batch) -> WorldResult:
    """Run one batch on one thread, in a worker process."""
    return work(batch, Options(jobs=1))


def in_this_process(batches: list[Batch], options: Options) -> Iterator[tuple[Batch, WorldResult]]:
    """Run the batches one after the other in this process."""
    quiet = Options(**{**vars(options), "listener": None})
    for batch in batches:
        yield batch, work(batch, quiet)
