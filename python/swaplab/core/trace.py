"""Page traces: typed results and errors of the functions of the core."""

from __future__ import annotations

import tempfile
from html import escape
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict

from swaplab import _core
from swaplab.core.errors import BadInput
from swaplab.core.files import path_for_message, refuse_overwrite
from swaplab.core.model import Reading

#: First bytes of a `.slt` (docs/trace-format.md).
SLT = b"swaplab\0"
#: The path that means standard input.
STANDARD_INPUT = "-"


class TraceInfo(BaseModel):
    """The properties of a trace: counts, footprint, classes, filter, provenance. Other keys are
    kept.
    """

    model_config = ConfigDict(extra="allow")

    name: str | None = None
    kind: str
    references: int = 0
    raw_references: int | None = None
    footprint_pages: int = 0
    page_size: int = 4096
    #: Of a `.slt`; a file of another format has one once it is imported.
    content_hash: str | None = None
    valid_from_frames: int = 0
    launches: int = 0

    @classmethod
    def of(cls, trace: Path, reading: Reading | None = None) -> TraceInfo:
        """Read the facts of a `.slt` or of any importable file. Raises BadInput."""
        return cls.model_validate_json(_core.trace_info(trace, as_json(reading, trace)))


class Curve(BaseModel):
    """LRU's misses at every number of frames from 0 on; `rate` is the share of sampled pages."""

    model_config = ConfigDict(extra="allow")

    references: float
    rate: float
    misses: list[float]


def as_json(reading: Reading | None, *traces: Path) -> str:
    """The options for reading `traces` in the form of the core. Raises BadInput for an option that
    has no effect on one of them.
    """
    if reading is None:
        return "{}"
    for trace in traces:
        refuse_reading_of_slt(reading, trace)
    return reading.model_dump_json(exclude_none=True)


def refuse_reading_of_slt(reading: Reading, trace: Path) -> None:
    """Raise BadInput if there are options for reading `trace` and it is a `.slt`."""
    given = list(reading.model_dump(exclude_none=True))
    if given and is_slt(trace):
        raise BadInput(f"{path_for_message(trace)}: {', '.join(given)}: no effect on a .slt, which says it itself; expected another format")


def is_slt(trace: Path) -> bool:
    """Whether a file is in the native format. False for a file that cannot be read, whose reader
    reports the error.
    """
    try:
        # The core reads a pipe, and standard input, once.
        if not trace.is_file() or str(trace) == STANDARD_INPUT:
            return False
        with trace.open("rb") as file:
            return file.read(len(SLT)) == SLT
    except OSError:
        return False


def lru_curve(trace: Path, reading: Reading | None = None, mapping: str = "follow", sample: float = 1.0) -> Curve:
    """LRU's exact misses at every size by reuse distances; `sample` below 1 is the share of sampled
    pages (SHARDS, FAST '15).
    """
    return Curve.model_validate_json(_core.mrc(trace, as_json(reading, trace), mapping, sample))


def to_parquet(trace: Path, reading: Reading | None, output: Path) -> None:
    """Write a trace as parquet, as a stream: columns `page` (UInt64), `op`, and `app`, `class`
    where they are known.
    """
    refuse_overwrite(output, [trace])
    if not output.absolute().parent.is_dir():
        raise BadInput(f"{path_for_message(output.parent)}: no such folder; expected one to write {output.name} into")
    if output.exists() and not output.is_file():
        raise BadInput(f"{path_for_message(output)}: not a regular file; expected one, as parquet is written from its end")
    output = output.resolve()  # a link stays one
    with tempfile.TemporaryDirectory(prefix=".convert-", dir=output.parent) as folder:
        text, part = Path(folder) / "trace.csv", Path(folder) / "trace.parquet"
        _core.trace_convert(trace, as_json(reading, trace), "csv", text, None)
        rows = pl.scan_csv(text, schema_overrides={"page": pl.UInt64})
        try:
            rows.with_columns(pl.exclude("page").cast(pl.Categorical)).sink_parquet(part)
        except pl.exceptions.PolarsError as error:
            raise BadInput(f"{path_for_message(output)}: {error}; expected a place to write the file") from None
        part.replace(output)


def info_html(info: TraceInfo) -> str:
    """The facts as an HTML table, for notebooks."""
    shown_keys = ("name", "references", "footprint_pages", "page_size", "content_hash")
    rows = "".join(f"<tr><th>{key}</th><td>{escape(str(getattr(info, key)))}</td></tr>" for key in shown_keys)
    return f"<table>{rows}</table>"


class _Reuse(BaseModel):
    model_config = ConfigDict(extra="allow")

    cold_starts_by_live_apps: list[int]


class _Analysis(BaseModel):
    model_config = ConfigDict(extra="allow")

    reuse: _Reuse


def cold_starts_by_live_apps(trace: Path, reading: Reading | None = None) -> list[int]:
    """Cold starts of a trace of launches if the `n` apps used last stayed alive, by `n` from 0."""
    return _Analysis.model_validate_json(_core.trace_analyze(trace, as_json(reading, trace))).reuse.cold_starts_by_live_apps
