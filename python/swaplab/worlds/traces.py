"""Where a trace is: a path, or an address that fsspec reads (`s3://`, `gs://`, `http://`, `memory://`), brought here once a process."""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import cache, lru_cache
from pathlib import Path

from swaplab import _core
from swaplab.core.errors import BadInput, NotSupported
from swaplab.core.experiment import BUNDLED, dumped
from swaplab.core.files import path_for_message
from swaplab.core.model import Experiment, Reading
from swaplab.core.trace import as_json, is_slt

#: In place of a path: what comes on standard input.
STANDARD_INPUT = "-"


def with_local_trace(experiment: Experiment) -> Experiment:
    """The experiment with its trace as a `.slt` on this machine: a file of another format is imported once for all runs of this process."""
    if experiment.workload.trace is None:
        return experiment
    path = local_trace(experiment.workload.trace, dumped(experiment.workload.reading))
    return experiment.model_copy(update={"workload": experiment.workload.model_copy(update={"trace": str(path), "reading": Reading()})})


def local_trace(trace: str, reading: str = "{}") -> Path:
    """A `.slt` on this machine of what `trace` names; `reading` is the JSON form of how it is read."""
    return _imported(trace, reading, stamp(trace))


def stamp(trace: str) -> str:
    """What changes when the file that `trace` names does: a process that lives long must not go on with what it read before."""
    path = Path(trace)
    if trace == STANDARD_INPUT or "://" in trace or not path.is_file():
        return ""
    status = path.stat()
    return f"{path.absolute()} {status.st_mtime_ns} {status.st_size}"


def workload_name(source: str) -> str:
    """What rows call a trace or a list of launches: the file's name, wherever it lies; `inputs` has the path and the content's hash."""
    return source.rstrip("/").rsplit("/", 1)[-1]


@lru_cache(maxsize=16)
def _imported(trace: str, reading: str, _stamp: str) -> Path:
    options = Reading.model_validate_json(reading)
    source = _brought(trace)
    try:
        source.open("rb").close()
    except OSError as error:
        raise BadInput(f"{path_for_message(trace)}: {error.strerror}; expected a trace") from None
    as_json(options, source)
    if is_slt(source):
        return source
    if options.pages:
        table = _brought(options.pages)
        if not table.exists():
            raise BadInput(f"{path_for_message(options.pages)}: no such file; expected the page table of the trace")
        options.pages = str(table)
    target = Path(tempfile.mkdtemp(dir=_scratch().name)) / f"{source.name.split('.')[0]}.slt"
    _core.trace_import(source, target, dumped(options))
    return target


def _brought(address: str) -> Path:
    """A local path of what an address names. Standard input is read once a process."""
    if address == STANDARD_INPUT:
        target = Path(tempfile.mkdtemp(dir=_scratch().name)) / "stdin"
        with target.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        return target
    if "://" not in address:
        path = Path(address)
        return BUNDLED[address] if address in BUNDLED and not path.exists() else path
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
    """A folder that goes when this process ends."""
    return tempfile.TemporaryDirectory(prefix="swaplab-")
