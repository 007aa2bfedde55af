"""One capture: run the program under a method, record, and end properly whatever ends it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from swaplab import __version__, _core
from swaplab.capture import methods
from swaplab.capture.program import Program
from swaplab.core.files import try_output

#: Seconds to wait after SIGINT or SIGTERM before the next, stronger signal; the last one is SIGKILL.
PATIENCE = 2.0


@dataclass(frozen=True)
class Plan:
    """What to capture, and how."""

    program: Program
    method: str
    output: Path
    root: Path | None = None
    filter: int = 16
    caches: str | None = None
    max: int | None = None
    labels: tuple[str, ...] = ()
    label_pipe: Path | None = None

    def request(self) -> str:
        """The recording's part, as the core takes it."""
        root = str(self.root.resolve()) if self.root else None
        first, *arguments = self.program.command
        provenance = {
            "command": shlex.join([first.removeprefix(str(self.root)) if self.root else first, *arguments]),
            "architecture": self.program.arch,
            "method": self.method,
            "captured_with": f"swaplab {__version__}",
        }
        name = Path(self.program.command[0]).name
        plan = {"output": str(self.output), "program": name, "filter": self.filter, "caches": self.caches, "max": self.max, "root": root}
        return json.dumps({**plan, "provenance": provenance})


class Filter(BaseModel):
    """What the filter at capture does to replays."""

    #: Relative change of LRU's faults at eight times the filter's frames; None where it was not measured.
    measured_error: float | None = None


class Meta(BaseModel):
    """What the trace says of itself."""

    reads: int
    writes: int
    ifetches: int
    raw_references: int | None = None
    filter: Filter = Filter()


@dataclass(frozen=True)
class Captured:
    """A finished capture: the trace's metadata, why it is short if it is, and the code to end with."""

    meta: Meta
    cut: str | None
    exit_code: int


def capture(plan: Plan) -> Captured:
    """Run the program and write its trace."""
    try_output(plan.output)
    sizes = _core.capture_cache_sizes(plan.caches) if plan.caches else None
    recording = _core.Capture()
    with _labels(recording, plan):
        if plan.method == "qemu":
            arguments: dict[str, object] = {"ring": recording.ring_path(), "filter": plan.filter}
            arguments |= {"max": plan.max} if plan.max is not None else {}
            arguments |= {"l1": sizes[0], "ll": sizes[1]} if sizes else {}
            program = subprocess.Popen(methods.qemu(plan.program, plan.root, arguments))
            return _finish(program, recording, partial(recording.record_ring, plan.request()))
        ours, theirs = os.pipe()
        program = subprocess.Popen(methods.lackey(plan.program, theirs), pass_fds=[theirs])
        os.close(theirs)
        return _finish(program, recording, partial(recording.record_lackey, plan.request(), ours, program.pid))


def _finish(program: subprocess.Popen[bytes], recording: _core.Capture, record: Callable[[], tuple[str, str | None]]) -> Captured:
    """Record in a thread of its own; wait here, where signals arrive."""
    result: list[tuple[str, str | None] | BaseException] = []

    def work() -> None:
        try:
            result.append(record())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    interrupted = enough = False
    while program.poll() is None:
        try:
            program.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            # A full disk ends the recording and lets the program run on; a limit or an error ends the program as well.
            if result or recording.enough():
                enough = True
                _end(program)
        except KeyboardInterrupt:
            # A terminal has sent the signal to the program too.
            interrupted = True
            _end(program, signal.SIGINT)
    code = program.returncode
    recording.program_ended(code < 0)
    thread.join()
    outcome = result[0]
    if isinstance(outcome, BaseException):
        raise outcome
    text, cut = outcome
    if interrupted:
        return Captured(Meta.model_validate_json(text), cut or "interrupted", 130)
    return Captured(Meta.model_validate_json(text), cut, 0 if enough else code if code >= 0 else 128 - code)


def _end(program: subprocess.Popen[bytes], first: signal.Signals = signal.SIGTERM) -> None:
    """Ask the program to end, then make it."""
    for request in (first, signal.SIGTERM, signal.SIGKILL):
        program.send_signal(request)
        try:
            program.wait(PATIENCE)
            return
        except subprocess.TimeoutExpired:
            continue


@contextmanager
def _labels(recording: _core.Capture, plan: Plan) -> Iterator[None]:
    """The first label now, the next ones at SIGUSR1 (the last one again and again), others as lines of a pipe."""
    left = list(plan.labels)

    def next_label(*_: object) -> None:
        if left:
            recording.label(left.pop(0) if len(left) > 1 else left[0])

    before = signal.signal(signal.SIGUSR1, next_label) if left else None
    next_label()
    if plan.label_pipe is not None:
        if not plan.label_pipe.is_fifo():  # left by a capture that was killed
            os.mkfifo(plan.label_pipe)
        threading.Thread(target=_read_labels, args=(recording, plan.label_pipe), daemon=True).start()
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGUSR1, before)
        if plan.label_pipe is not None:
            plan.label_pipe.unlink(missing_ok=True)


def _read_labels(recording: _core.Capture, pipe: Path) -> None:
    while pipe.exists():
        with pipe.open() as lines:
            for line in lines:
                if line.strip() in ("launch", "resume"):
                    recording.label(line)
