"""Run small experiments and interrupt each at a given moment.

Each line of standard input is a run, which is a forked process: scheme, moment (`step:3`,
`leave:3`, `fork`, `join`, `launch`, `request`, `work`, `check`, `never`), interruption (`exception`
or a signal's number). The output has one line per run: exit status and message. At `fork` an app's
process has just been created; at `join` it is about to enter its control group.

Apps of a killed run become children of this process, which reaps them when they end, as init can
take long to do so.
"""

import ctypes
import os
import signal
import sys
import tempfile
import time
from contextlib import contextmanager

from swaplab.core import experiment as experiments
from swaplab.worlds.kernel import process, runner
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs import cgroup
from swaplab.worlds.result import Options

scheme = moment = blow = ""
EXPERIMENT = """
machine = { dram = "20MiB", kernel = { page_cluster = 0 } }
design = [{ swap = "SCHEME" }]
run = { on = ["kernel"], seeds = 1, kernel = { calibrate = false } }
workload.launches = { rounds = 1, foreground = "0" }
workload.apps = [
  { use = "swaplab-app", name = "one", footprint = "12MiB", seed = 1, work = 300 },
  { use = "swaplab-app", name = "two", footprint = "12MiB", seed = 2, work = 300 },
  { use = "DEAF" },
]
"""
#: An app that runs until it is killed. `swaplab-app` ends when its run has ended.
DEAF = """
name = "deaf"
command = ["sh", "-c", "echo ready; while read line; do echo ok; done; exec sleep 600"]
ready = [{ expect = "^ready" }]
request = [{ send = "resume\\n", expect = "^ok" }]
"""


class Blow(Exception):
    """The exception for the interruption `exception`."""


def strike(now: str, run: int = 0) -> None:
    """Interrupt the run with process id `run` (0: this process) if `now` is the chosen moment."""
    if now != moment:
        return
    if blow == "exception":
        raise Blow(now)
    os.kill(run or os.getpid(), int(blow))
    time.sleep(0.2)


steps: list[str] = []
original = {name: getattr(process.Process, name) for name in ("launch", "request", "work", "check")}
original_step, original_enter = Machine.step, cgroup.Group.enter


@contextmanager
def step(self, what, do, undo):
    number = len(steps)
    steps.append(f"step:{number}")

    def struck() -> None:
        do()
        strike(f"step:{number}")

    with original_step(self, what, struck, undo):
        yield
        strike(f"leave:{number}")


def phase(name: str):
    def struck(self):
        result = original[name](self)
        strike(name)
        return result

    return struck


def enter(self) -> None:
    strike("join", os.getppid())
    original_enter(self)


def run() -> str:
    """Run one experiment to its end or to the interruption; returns the message."""
    sized = scheme if scheme == "none" else f"{scheme}:size=16MiB"
    wanted = experiments.parse(EXPERIMENT.replace("SCHEME", sized).replace("DEAF", deaf.name), "tiny.toml")
    try:
        result = runner.run([wanted], Options(), process.User.named("nobody", False))
    except (Blow, KeyboardInterrupt) as error:
        return f"struck {type(error).__name__}"
    counts = result.rows[0].kernel
    return f"bad={counts.bad_pages} checked={counts.checked_apps} {' '.join(steps)}"


Machine.step, cgroup.Group.enter = step, enter
for name in original:
    setattr(process.Process, name, phase(name))
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
ended: dict[int, int] = {}


def reap(_number: int = 0, _frame: object = None) -> None:
    """Reap every child that has ended."""
    try:
        while (child := os.waitpid(-1, os.WNOHANG))[0]:
            ended[child[0]] = os.waitstatus_to_exitcode(child[1])
    except ChildProcessError:
        return


signal.signal(signal.SIGCHLD, reap)
with tempfile.NamedTemporaryFile("w", suffix=".toml") as deaf:
    deaf.write(DEAF)
    deaf.flush()
    for line in sys.stdin:
        scheme, moment, blow = line.split()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.register_at_fork(after_in_parent=lambda: strike("fork"))
            try:
                message = run()
            except BaseException as error:
                message = f"{type(error).__name__}: {error}".replace("\n", " ")
            os.write(writing, message.encode())
            os._exit(0)
        os.close(writing)
        while child not in ended:
            time.sleep(0.005)
        with os.fdopen(reading) as file:
            print(ended[child], file.read(), flush=True)
