"""Locations of traces: paths, pipes, standard input, or addresses that fsspec reads (`s3://`,
`gs://`, `http://`, `memory://`). Pipes, standard input and addresses are read once per process.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import nullcontext
from functools import cache, lru_cache
from pathlib import Path

from swaplab import _core
from swaplab.core.errors import BadInput, NotSupported
from swaplab.core.experiment import dumped, trace_path
from swaplab.core.files import path_for_message
from swaplab.core.model import Experiment, Reading
from swaplab.core.trace import STANDARD_INPUT, is_slt, refuse_reading_of_slt


def with_local_trace(experiment: Experiment) -> Experiment:
    """Replace the experiment's trace by a local `.slt`. The last 16 imports of files of another
    format are kept for later runs of this process.
    """
    if experiment.workload.trace is None:
        return experiment
    path = local_trace(experiment.workload.trace, dumped(experiment.workload.reading))
    return experiment.model_copy(update={"workload": experiment.workload.model_copy(update={"trace": str(path), "reading": Reading()})})


def local_trace(trace: str, reading: str = "{}") -> Path:
    """Return a local `.slt` of `trace`, a path or an address; `reading` is the JSON form of the
    reading options.
    """
    return _imported(trace, reading, stamp(trace))


def stamp(trace: str) -> str:
    """Return a text that changes when the file `trace` changes, so that a long-lived process does
    not use a stale import.
    """
    path = Path(trace)
    if trace == STANDARD_INPUT or "://" in trace or not path.is_file():
        return ""
    status = path.stat()
    return f"{path.absolute()} {status.st_mtime_ns} {status.st_size}"


def workload_name(source: str) -> str:
    """Return the name of a trace or list of launches in rows: its file name. `inputs` has the path
    and the hash of the content.
    """
    return source.rstrip("/").rsplit("/", 1)[-1]


@lru_cache(maxsize=16)
def _imported(trace: str, reading: str, _stamp: str) -> Path:
    options = Reading.model_validate_json(reading)
    source = _local_copy(trace)
    try:
        source.open("rb").close()
    except OSError as error:
        raise BadInput(f"{path_for_message(trace)}: {error.strerror}; expected a trace") from None
    refuse_reading_of_slt(options, source)
    if is_slt(source):
        return source
    if options.pages:
        table = _local_copy(options.pages)
        if not table.exists():
            raise BadInput(f"{path_for_message(options.pages)}: no such file; expected the page table of the trace")
        options.pages = str(table)
    target = Path(tempfile.mkdtemp(dir=_scratch().name)) / f"{source.name.split('.')[0]}.slt"
    _core.trace_import(source, target, dumped(options))
    return target


def _local_copy(address: str) -> Path:
    """Return a local path of `address`: itself, a bundled trace, or a copy."""
    if "://" in address:
        return _downloaded(address)
    return lasting(trace_path(address))


def lasting(trace: Path) -> Path:
    """Return a path of `trace` that can be read more than once: itself, or a copy of a pipe or of
    standard input.
    """
    return _copy_of_pipe(trace) if str(trace) == STANDARD_INPUT or trace.is_fifo() else trace


@cache
def _copy_of_pipe(trace: Path) -> Path:
    """Copy a pipe or standard input to a file. All runs of this process share the copy, whatever
    their reading options.
    """
    is_stdin = str(trace) == STANDARD_INPUT
    target = Path(tempfile.mkdtemp(dir=_scratch().name)) / ("stdin" if is_stdin else trace.name)
    with nullcontext(sys.stdin.buffer) if is_stdin else trace.open("rb") as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    return target


@cache
def _downloaded(address: str) -> Path:
    """Download an address that fsspec reads, once per process."""
    try:
        import fsspec  # an optional extra
    except ModuleNotFoundError:
        raise NotSupported(f"{address}: reading an address needs fsspec; install it with `pip install 'swaplab[cluster]'`") from None
    target = Path(tempfile.mkdtemp(dir=_scratch().name)) / (address.rstrip("/").rsplit("/", 1)[-1] or "trace")
    try:
        with fsspec.open(address, "rb") as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    except ImportError as error:
        raise NotSupported(f"{address}: {error}") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{address}: {error}; expected an address of a trace") from None
    return target


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed when this process ends."""
    return tempfile.TemporaryDirectory(prefix="swaplab-")
