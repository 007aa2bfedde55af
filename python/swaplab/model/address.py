"""Where a trace is: a path, or an address that fsspec reads (`s3://`, `gs://`, `http://`, `memory://`), brought here once a process."""

from __future__ import annotations

import json
import shutil
import tempfile
from functools import cache, lru_cache
from pathlib import Path

from swaplab import BadInput, NotSupported, _core

#: First bytes of a `.slt` (docs/trace-format.md).
SLT = b"swaplab\0"


@lru_cache(maxsize=16)
def local_trace(trace: str, reading: str) -> tuple[Path, str]:
    """A path the core opens fast, and how to read it: a file that is no `.slt` is imported once for all runs of this process."""
    options = json.loads(reading)
    source = _brought(trace)
    if options.get("pages"):
        options["pages"] = str(_brought(options["pages"]))
    try:
        with source.open("rb") as file:
            native = file.read(len(SLT)) == SLT
    except OSError as error:
        raise BadInput(f"{trace}: {error.strerror}; expected a trace") from None
    if native:
        return source, "{}"
    target = Path(tempfile.mkdtemp(dir=_scratch().name)) / f"{source.name.split('.')[0]}.slt"
    _core.trace_import(source, target, json.dumps(options))
    return target, "{}"


def _brought(address: str) -> Path:
    """A local path of what an address names."""
    if "://" not in address:
        return Path(address)
    try:
        import fsspec
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
