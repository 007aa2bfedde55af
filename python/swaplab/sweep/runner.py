"""Run the points of a sweep: what is not stored yet goes out in batches, each result is stored as it comes, the end joins them.

Workers know only `work`: one batch in, rows out, nothing kept. So it does not matter where they run, in
which order, or whether one is lost.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import polars as pl

from swaplab import BadInput
from swaplab.model import model_of
from swaplab.sweep.design import Point, points
from swaplab.sweep.store import Store

Batch = list[tuple[int, dict[str, Any]]]
Rows = list[tuple[int, list[dict[str, Any]]]]
Runner = Callable[[list[Batch]], Iterator[tuple[Batch, Rows]]]
#: A batch whose worker dies this many times is what kills it.
TRIES = 3


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a sweep; says where it stopped."""


def run_sweep(
    experiment: dict[str, Any],
    folder: Path,
    run: Runner,
    resume: bool = False,
    listener: Callable[[int, int], None] | None = None,
    place: str = "experiment",
) -> pl.DataFrame:
    """Every point of a resolved experiment, as the frame that `results.parquet` holds."""
    design = points(experiment, place)
    model = model_of(design[0].experiment)
    keys = [point.key(model.identity(point.experiment)) for point in design]
    columns = vary_columns(design)
    store = Store(folder, resume)
    done = store.done()
    open_points = {keys[point.index]: point for point in design if keys[point.index] not in done}
    ran = len(design) - sum(key in open_points for key in keys)
    try:
        for batch, rows in run(model.batch((point.index, point.experiment) for point in open_points.values())):
            named = [
                {"hash": keys[index], "row": at, **{name: values[index] for name, values in columns.items()}, **row}
                for index, outcome in rows
                for at, row in enumerate(outcome)
            ]
            store.add(hashlib.sha256("".join(keys[index] for index, _ in batch).encode()).hexdigest()[:24], named)
            ran += sum(1 for _ in batch)
            if listener:
                listener(ran, len(design))
    except BadInput:
        store.abandon()
        raise
    except KeyboardInterrupt:
        raise Interrupted(f"{folder}: stopped after {ran} of {len(design)} points; go on with --resume") from None
    return store.finish(keys, list(columns))


def vary_columns(design: list[Point]) -> dict[str, list[Any]]:
    """What varies, a column a key: numbers where every value is one, else text."""
    names = dict.fromkeys(name for point in design for name in point.values)
    found: dict[str, list[Any]] = {}
    for name in names:
        values = [point.values.get(name) for point in design]
        plain = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        found[name] = values if plain else [_text(value) for value in values]
    return found


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def work(batch: Batch) -> Rows:
    """What a worker does: pure, so any worker may do it, and again."""
    rows: Rows = model_of(batch[0][1]).rows(batch)
    return rows


def in_this_process(batches: list[Batch]) -> Iterator[tuple[Batch, Rows]]:
    for batch in batches:
        yield batch, work(batch)


def process_pool(jobs: int) -> Runner:
    """`jobs` worker processes; a lost worker's batches run again in a new pool."""

    def run(batches: list[Batch]) -> Iterator[tuple[Batch, Rows]]:
        left = dict(enumerate(batches))
        tries = dict.fromkeys(left, 0)
        with tempfile.TemporaryDirectory(prefix="swaplab-") as scratch:
            while left:
                # Forked children of a process with threads can hang; these start afresh.
                spawn = multiprocessing.get_context("spawn")
                pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_start_worker, initargs=(scratch,))
                try:
                    yield from _drain(pool, jobs, left)
                except BrokenProcessPool:
                    for at in list(left)[: 2 * jobs]:
                        tries[at] += 1
                        if tries[at] == TRIES:
                            raise RuntimeError(f"worker processes died {TRIES} times on one batch; is there too little memory?") from None
                finally:
                    pool.shutdown(wait=not left, cancel_futures=True)
                    for child in multiprocessing.active_children():
                        child.terminate()
                        child.join()

    return run


def _drain(pool: ProcessPoolExecutor, jobs: int, left: dict[int, Batch]) -> Iterator[tuple[Batch, Rows]]:
    """Results as they come, with no more than two batches a worker on their way; what came is taken out of `left`."""
    waiting: dict[Future[Rows], int] = {}
    todo = iter(list(left))
    while True:
        while len(waiting) < 2 * jobs and (at := next(todo, None)) is not None:
            waiting[pool.submit(work, left[at])] = at
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            at = waiting.pop(future)
            rows = future.result()
            yield left.pop(at), rows


def _start_worker(scratch: str) -> None:
    """Ctrl-C reaches every process of a terminal; the parent alone answers it. What a worker leaves goes with the parent's folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = os.environ["TMPDIR"] = scratch
