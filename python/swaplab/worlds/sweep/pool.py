"""Worker processes on this machine, each on a pipe of its own: whatever ends one in whatever moment, its pipe ends with it, and the others
never notice. (A pipe that workers share, as that of `concurrent.futures`, waits for ever for the rest of a message whose sender died.)
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait

from swaplab.core.errors import Failed
from swaplab.worlds.result import Options, WorldResult
from swaplab.worlds.sweep.runner import Batch, Runner, work_alone

#: A batch whose worker dies this many times is what kills it.
TRIES = 3
#: Forked children of a process with threads can hang; these start afresh.
_SPAWN = multiprocessing.get_context("spawn")


class Worker:
    """A process that runs one batch at a time."""

    def __init__(self, scratch: str) -> None:
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_serve, args=(theirs, scratch))
        self.process.start()
        theirs.close()
        self.batch: int | None = None

    def give(self, at: int, batch: Batch) -> None:
        """Begin a batch; that a worker has died shows in its result."""
        self.batch = at
        with suppress(OSError):
            self.pipe.send(batch)

    def result(self) -> WorldResult | Exception:
        """What came of its batch; EOFError if the worker died."""
        try:
            answer: WorldResult | Exception = self.pipe.recv()
        except OSError:
            raise EOFError from None
        return answer

    def end(self, at_once: bool) -> None:
        """Let it end, or end it where it stands."""
        self.pipe.close()
        if at_once:
            self.process.kill()
        self.process.join()


def process_pool(jobs: int) -> Runner:
    """`jobs` worker processes, at most one a batch; the batch of a lost worker runs again in a new one."""

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
                        worker = busy[pipe]  # type: ignore[index]  # of the connections that were given
                        at, worker.batch = worker.batch, None
                        assert at is not None
                        try:
                            result = worker.result()
                        except EOFError:
                            tries[at] += 1
                            if tries[at] == TRIES:
                                raise Failed(f"worker processes died {TRIES} times on one batch; is there too little memory?") from None
                            todo[at] = batches[at]
                            worker.end(at_once=True)
                            workers[workers.index(worker)] = Worker(scratch)
                            continue
                        if isinstance(result, Exception):
                            raise result
                        # The worker goes on while the caller takes the result.
                        _begin_next([worker], todo)
                        yield batches[at], result
                    _begin_next(workers, todo)
                done = True
            finally:
                for worker in workers:
                    worker.end(at_once=not done)

    return run


def _begin_next(workers: list[Worker], todo: dict[int, Batch]) -> None:
    """Give each that is idle the first batch that nobody has."""
    for worker in workers:
        if worker.batch is None and todo:
            at = next(iter(todo))
            worker.give(at, todo.pop(at))


def _serve(pipe: Connection[WorldResult | Exception, Batch], scratch: str) -> None:
    """Run batches until the parent closes the pipe. Ctrl-C reaches every process of a terminal; the parent alone answers it. What a worker
    leaves goes with the parent's folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = os.environ["TMPDIR"] = scratch
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            pipe.send(_outcome(pipe.recv()))


def _outcome(batch: Batch) -> WorldResult | Exception:
    try:
        return work_alone(batch)
    except Exception as error:
        return error


def _end_with_parent() -> None:
    """A batch that still runs is of no use when the parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
