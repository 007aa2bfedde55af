"""A capture: running the program under a method, recording it, and ending it cleanly."""

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

#: Seconds to wait after a signal that asks the program to end before the next signal is sent. The
#: last one is SIGKILL.
PATIENCE = 2.0


@dataclass(frozen=True)
class Plan:
    """The parameters of a capture."""

    program: Program
    method: str
    output: Path
    root: Path | None = None
    #: Number of pages of the LRU filter whose hits are not recorded; 0 for no filter.
    filter: int = 16
    #: Sizes of processor caches whose hits are not recorded, such as `L1:32KiB,LL:1MiB`.
    caches: str | None = None
    #: Number of the program's references after which the recording ends; None for no limit.
    max: int | None = None
    labels: tuple[str, ...] = ()
    label_pipe: Path | None = None

    def request(self) -> str:
        """Return the recording's parameters as JSON for the core."""
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
    """The error that the filter at capture causes in replays."""

    #: Relative change of LRU's faults at eight times the filter's frames; None if it was not
    #: measured.
    measured_error: float | None = None


class Meta(BaseModel):
    """Metadata of a trace."""

    reads: int
    writes: int
    ifetches: int
    raw_references: int | None = None
    filter: Filter = Filter()


@dataclass(frozen=True)
class CaptureResult:
    """A finished capture: the trace's metadata, the reason of a truncation (None if there is none),
    and the exit code.
    """

    meta: Meta
    cut: str | None
    exit_code: int


def capture(plan: Plan) -> CaptureResult:
    """Run the program and write its trace. Returns the metadata and the exit code."""
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


def _finish(program: subprocess.Popen[bytes], recording: _core.Capture, record: Callable[[], tuple[str, str | None]]) -> CaptureResult:
    """Record in a separate thread, and wait for the program in this one, which receives signals."""
    result: list[tuple[str, str | None] | BaseException] = []

    def work() -> None:
        try:
            result.append(record())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    interrupted = ended_here = False
    while program.poll() is None:
        try:
            program.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            # A limit or an error ends the program as well. A full disk ends the recording only; the
            # program runs on.
            if result or recording.program_may_end():
                ended_here = True
                _end(program)
        except KeyboardInterrupt:
            # The terminal has sent the signal to the program too.
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
        return CaptureResult(Meta.model_validate_json(text), cut or "interrupted", 130)
    return CaptureResult(Meta.model_validate_json(text), cut, 0 if ended_here else code if code >= 0 else 128 - code)


def _end(program: subprocess.Popen[bytes], first: signal.Signals = signal.SIGTERM) -> None:
    """End the program, with SIGKILL if it does not end by itself."""
    for request in dict.fromkeys((first, signal.SIGTERM, signal.SIGKILL)):
        program.send_signal(request)
        try:
            program.wait(PATIENCE)
            return
        except subprocess.TimeoutExpired:
            continue


@contextmanager
def _labels(recording: _core.Capture, plan: Plan) -> Iterator[None]:
    """Set the first label now and the next ones at each SIGUSR1 (the last one repeatedly), and read
    further labels from a pipe.
    """
    remaining = list(plan.labels)

    def next_label(*_: object) -> None:
        if remaining:
            recording.label(remaining.pop(0) if len(remaining) > 1 else remaining[0])

    before = signal.signal(signal.SIGUSR1, next_label) if remaining else None
    next_label()
    if plan.label_pipe is not None:
        if not plan.label_pipe.is_fifo():  # it may exist after a killed capture
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
