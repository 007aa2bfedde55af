"""A worker process: runs batches that come through a pipe until its parent closes it.

It is started as a program of its own, not by `multiprocessing`, which would run the user's script
again in each worker.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection

from swaplab.worlds.result import WorldResult
from swaplab.worlds.sweep.runner import Batch, work_on_one_thread

#: The program: descriptor of the pipe, folder for temporary files, and the parent's places of
#: modules.
PROGRAM = "import sys; sys.path[:] = sys.argv[3:]; from swaplab.worlds.sweep.worker import serve; serve(int(sys.argv[1]), sys.argv[2])"
#: Time in which a worker without work ends by itself once its pipe is closed.
GRACE_S = 5.0


def command(pipe: int, scratch: str) -> list[str]:
    """The command of a worker with the descriptor `pipe`."""
    return [sys.executable, "-c", PROGRAM, str(pipe), scratch, *sys.path]


def serve(descriptor: int, scratch: str) -> None:
    """Run batches until the parent closes the pipe.

    Ctrl-C reaches every process of a terminal, but only the parent handles it. The worker's
    temporary files are in `scratch`, which the parent removes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = os.environ["TMPDIR"] = scratch
    threading.Thread(target=_end_with_parent, args=(descriptor,), daemon=True).start()
    pipe: Connection[WorldResult | Exception, Batch] = Connection(descriptor)
    with suppress(EOFError, OSError):
        while True:
            pipe.send(_outcome(pipe.recv()))


def _outcome(batch: Batch) -> WorldResult | Exception:
    try:
        return work_on_one_thread(batch)
    except Exception as error:
        return error


def _end_with_parent(descriptor: int) -> None:
    """Exit when the parent has closed the pipe, by its end at the latest: the result of a running
    batch is then useless.
    """
    hangup = select.poll()
    hangup.register(descriptor, 0)
    hangup.poll()
    time.sleep(GRACE_S)
    os._exit(1)
