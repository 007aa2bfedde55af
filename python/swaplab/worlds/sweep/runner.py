"""Where batches of points run. Workers know only `work`: one batch in, rows out, nothing kept. So it does not matter where they run, in
which order, or whether one is lost.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from swaplab.core.errors import Failed
from swaplab.core.model import Experiment
from swaplab.worlds.registry import world
from swaplab.worlds.result import Options, WorldResult

#: A world's key, and points by index as the JSON form of their experiments.
Batch = tuple[str, list[tuple[int, str]]]
Runner = Callable[[list[Batch], Options], Iterator[tuple[Batch, WorldResult]]]
#: A batch whose worker dies this many times is what kills it.
TRIES = 3


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


def process_pool(jobs: int) -> Runner:
    """`jobs` worker processes, at most one a batch; a lost worker's batches run again in a new pool."""

    def run(batches: list[Batch], _options: Options) -> Iterator[tuple[Batch, WorldResult]]:
        left = dict(enumerate(batches))
        tries = dict.fromkeys(left, 0)
        workers = max(1, min(jobs, len(batches)))
        with tempfile.TemporaryDirectory(prefix="swaplab-") as scratch:
            while left:
                # Forked children of a process with threads can hang; these start afresh.
                spawn = multiprocessing.get_context("spawn")
                pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_start_worker, initargs=(scratch,))
                try:
                    yield from _drain(pool, workers, left)
                except BrokenProcessPool:
                    for at in list(left)[: 2 * workers]:
                        tries[at] += 1
                        if tries[at] == TRIES:
                            raise Failed(f"worker processes died {TRIES} times on one batch; is there too little memory?") from None
                finally:
                    pool.shutdown(wait=not left, cancel_futures=True)
                    for child in multiprocessing.active_children():
                        child.terminate()
                        child.join()

    return run


def _drain(pool: ProcessPoolExecutor, workers: int, left: dict[int, Batch]) -> Iterator[tuple[Batch, WorldResult]]:
    """Results as they come, with no more than two batches a worker on their way; what came is taken out of `left`."""
    waiting: dict[Future[WorldResult], int] = {}
    todo = iter(list(left))
    while True:
        while len(waiting) < 2 * workers and (at := next(todo, None)) is not None:
            waiting[pool.submit(work_alone, left[at])] = at
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            at = waiting.pop(future)
            result = future.result()
            yield left.pop(at), result


def _start_worker(scratch: str) -> None:
    """Ctrl-C reaches every process of a terminal; the parent alone answers it. What a worker leaves goes with the parent's folder. Workers
    of a parent that was killed end: each holds the pipe that it reads work from open for the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = os.environ["TMPDIR"] = scratch
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
