"""Worker processes on this machine. Each has a separate pipe, which closes when the worker dies,
without an effect on other workers.

A pipe that workers share, as in `concurrent.futures`, would wait forever for the rest of a message
whose sender died.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import wait

from swaplab.core.errors import Failed
from swaplab.worlds.result import Options, WorldResult
from swaplab.worlds.sweep.runner import Batch, Runner
from swaplab.worlds.sweep.worker import command

#: The run fails if the workers of one batch die this many times.
TRIES = 3


class Worker:
    """A process that runs one batch at a time."""

    def __init__(self, scratch: str) -> None:
        self.pipe, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(command(theirs.fileno(), scratch), pass_fds=[theirs.fileno()])
        self.batch: int | None = None

    def give(self, at: int, batch: Batch) -> None:
        """Send a batch to the worker. If the worker has died, `result` raises the error."""
        self.batch = at
        with suppress(OSError):
            self.pipe.send(batch)

    def result(self) -> WorldResult | Exception:
        """Receive the result of the batch, or the exception that it raised. Raises EOFError if the
        worker died.
        """
        try:
            answer: WorldResult | Exception = self.pipe.recv()
        except OSError:
            raise EOFError from None
        return answer

    def end(self, at_once: bool) -> None:
        """Close the pipe, so that the worker ends after its batch; with `at_once`, kill it."""
        self.pipe.close()
        if at_once:
            self.process.kill()
        self.process.wait()


def process_pool(jobs: int) -> Runner:
    """Make a runner with up to `jobs` worker processes, at most one per batch. The batch of a lost
    worker is run again in a new one.
    """

    def run(batches: list[Batch], _options: Options) -> Iterator[tuple[Batch, WorldResult]]:
        todo = dict(enumerate(batches))
        tries = dict.fromkeys(todo, 0)
        workers: list[Worker] = []
        done = False
        with tempfile.TemporaryDirectory(prefix="swaplab-") as scratch:
            try:
                workers += [Worker(scratch) for _ in range(max(1, min(jobs, len(batches))))]
                _begin_next(workers, todo)
                while busy := {worker.pipe: worker for worker in workers if worker.batch is not None}:
                    for pipe in wait(list(busy)):
                        worker = busy[pipe]  # type: ignore[index]  # one of the given connections
                        at, worker.batch = worker.batch, None
                        assert at is not None
                        try:
                            result = worker.result()
                        except EOFError:
                            tries[at] += 1
                            if tries[at] == TRIES:
                                raise Failed(_worker_died(batches[at])) from None
                            todo[at] = batches[at]
                            worker.end(at_once=True)
                            workers[workers.index(worker)] = Worker(scratch)
                            continue
                        if isinstance(result, Exception):
                            raise result
                        # The worker starts its next batch while the caller processes the result.
                        _begin_next([worker], todo)
                        yield batches[at], result
                    _begin_next(workers, todo)
                done = True
            finally:
                for worker in workers:
                    worker.end(at_once=not done)

    return run


def _begin_next(workers: list[Worker], todo: dict[int, Batch]) -> None:
    """Send each idle worker the next batch of `todo`."""
    for worker in workers:
        if worker.batch is None and todo:
            at = next(iter(todo))
            worker.give(at, todo.pop(at))


def _worker_died(batch: Batch) -> str:
    key, _ = batch
    return f"world {key}: worker processes died {TRIES} times on one batch; expected more free memory, or fewer processes (--jobs)"
