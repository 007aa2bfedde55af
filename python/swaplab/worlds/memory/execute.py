"""Execution of a command under the pager. Its input, output, signals and exit code are passed
through.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from swaplab._core import pager_trace
from swaplab.core.errors import BadInput
from swaplab.core.files import path_for_message, try_output, write_whole
from swaplab.core.model import Design, Experiment, Use
from swaplab.worlds.apps import programs
from swaplab.worlds.memory import pager
from swaplab.worlds.memory.environment import Environment, check_program, environment

#: Schema of the statistics file.
SCHEMA = 1


def execute(experiment: Experiment, stats: Path | None = None, record: Path | None = None) -> int:
    """Run the experiment's only command under its only design, and return the command's exit code.

    Statistics are written to `stats`, a trace of faults and evictions to `record`. Raises BadInput
    before the command starts if the command cannot be run or an output cannot be written.
    """
    design, use = _single_command(experiment)
    made = environment(experiment, design)
    path = shutil.which(use.command[0])
    if path is None:
        raise BadInput(f"{path_for_message(use.command[0])}: no such program; expected one on the PATH or a path to one")
    if warning := check_program(experiment, Path(path)):
        print(f"swaplab: {warning}", file=sys.stderr)
    for output in (stats, record):
        if output is not None:
            try_output(output)
    statistics = pager.new_run()
    records = Path(tempfile.mkdtemp(prefix="swaplab-record-", dir=record.absolute().parent)) if record is not None else None
    variables = os.environ | made.variables(statistics, records)
    try:
        with _forwarded_signals() as forward_to:
            child = subprocess.Popen(use.command, executable=path, env=variables, preexec_fn=_end_with_parent())  # noqa: PLW1509
            forward_to(child)
            code = _exit_code(child.wait())
            counted = pager.processes(statistics)
            if stats is not None:
                write_whole(stats, _statistics(experiment, made, code, counted).encode())
            if record is not None and records is not None:
                _trace(records, counted, {"command": shlex.join(use.command), "scheme": made.swap.text, "policy": made.policy}, record)
        for line in filter(None, (pager.unmanaged_line(counted), pager.late_line(counted))):
            # stderr is closed; the program's exit code is still returned
            with contextlib.suppress(BrokenPipeError):
                print(f"swaplab: {line}", file=sys.stderr)
    finally:
        if records is not None:
            shutil.rmtree(records, ignore_errors=True)
        shutil.rmtree(statistics, ignore_errors=True)
    return code


def _single_command(experiment: Experiment) -> tuple[Design, Use]:
    """Return the only design and the only command. Raises BadInput if there are others."""
    designs, uses = experiment.design, programs(experiment)
    if len(designs) != 1 or len(uses) != 1 or not uses[0].command:
        raise BadInput(f"{len(designs)} designs and {len(uses)} apps; expected one design and one command")
    return designs[0], uses[0]


def _statistics(experiment: Experiment, made: Environment, code: int, counted: list[pager.Process]) -> str:
    document = {"schema": SCHEMA, "kind": made.kind, "command": programs(experiment)[0].command, "scheme": made.swap.text}
    document |= {"policy": made.policy, "medium": experiment.run.memory.medium, "exit_code": code}
    return json.dumps(document | pager.summary(counted), indent=2) + "\n"


def _trace(records: Path, processes: list[pager.Process], provenance: dict[str, str], record: Path) -> None:
    """Merge the records of all processes into one trace, oldest process first."""
    frames = max((p.counters["policy_frames"] for p in processes), default=0)
    provenance |= {"source": "swaplab exec --record", "policy_frames": str(frames)}
    parts = [(f.name, f) for f in sorted(records.iterdir(), key=lambda f: f.stat().st_ctime_ns) if f.stat().st_size > 0]
    if not pager_trace(parts, provenance, any(p.counters["state"] != pager.ENDED for p in processes), record):
        print(
            f"swaplab: --record {path_for_message(record)}: no process of the program was seen to touch managed memory; no trace",
            file=sys.stderr,
        )


#: Of linux/prctl.h.
PR_SET_PDEATHSIG = 1


def _end_with_parent() -> Callable[[], None]:
    """Return what the program's process calls before the program: so it is killed if `swaplab exec`
    is.
    """
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def before_exec() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(128 + signal.SIGKILL)

    return before_exec


#: Signals that the program gets in place of `swaplab exec`.
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@contextlib.contextmanager
def _forwarded_signals() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Forward signals to the program that the yielded function is given. Those that came before are
    forwarded then; those that come after its end are dropped, so that its statistics and its trace
    are still written. Ctrl-C reaches the program by itself.
    """
    programs: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def received(number: int, _: object) -> None:
        if programs:
            programs[0].send_signal(number)
        else:
            early.append(number)

    def forward_to(program: subprocess.Popen[bytes]) -> None:
        programs.append(program)
        for number in early:
            program.send_signal(number)

    # A handler is not inherited by a program, as an ignored signal would be.
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    before |= {number: signal.signal(number, received) for number in FORWARDED}
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit_code(code: int) -> int:
    """Return the exit code of the program as a shell does."""
    if code == -signal.SIGKILL:
        print("swaplab: the program was killed; its memory and its store are gone", file=sys.stderr)
    return code if code >= 0 else 128 - code
