"""Documents: reading from a run folder or a file, and access to figures by their path."""

from __future__ import annotations

import os
import re
from pathlib import Path

import polars as pl
from pydantic import BaseModel

from swaplab import _core
from swaplab.core.errors import BadInput
from swaplab.core.files import path_for_message, read_text
from swaplab.core.model import Document, Row

SUMMARY = "summary.json"
MANIFEST = "manifest.json"


def read(place: str | os.PathLike[str]) -> Document:
    """Read the document of a run folder, or of a JSON file that a command printed. Raises BadInput,
    also for another schema version.
    """
    path = Path(place)
    file = path / SUMMARY if path.is_dir() else path
    text = read_text(file, "a run folder or the JSON document of a run")
    _core.document_check(path_for_message(file), text)
    # Read from the text itself: on its way through the core a number may change in its last digit.
    return Document.model_validate_json(text)


def dumped(document: Document) -> str:
    """The JSON text of a document, as printed by `--json` and stored in `summary.json`."""
    return document.model_dump_json(by_alias=True, indent=1) + "\n"


def manifest(document: Document) -> str:
    """The manifest, which identifies a run and allows rerunning it: the document without its
    rows.
    """
    return document.model_dump_json(by_alias=True, indent=1, exclude={"rows"}) + "\n"


def read_table(run: str | os.PathLike[str], table: str) -> pl.DataFrame:
    """Read a parquet table of a run folder: launches, queue_waits, timeline, kills, tracepoints,
    swap_entries, traffic, energy or results."""
    path = Path(run) / f"{table}.parquet"
    if not path.is_file():
        raise BadInput(f"{path_for_message(path)}: not there; expected a run folder of `swaplab run -o` whose world has this table")
    try:
        return pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"{path_for_message(path)}: {error}; expected the parquet table that swaplab wrote") from None


def run_name(place: str | os.PathLike[str]) -> str:
    """The name of a run: that of its folder without the time, or that of its file. Bytes that are
    not UTF-8 are escaped.
    """
    path = Path(place)
    stem = path.resolve().name if path.is_dir() else path.stem
    return path_for_message(re.sub(r"^\d{8}T\d{6}Z-", "", stem))


def figure(row: Row, path: str) -> float | None:
    """The figure at a path in the row, such as `launches.delay_ms.mean` or
    `media.flash.write_bytes`; None where it is unknown.
    """
    at: object = row
    for part in path.split("."):
        if at is None:
            return None
        at = at.get(part) if isinstance(at, dict) else getattr(at, part, None)
    return float(at) if isinstance(at, (int, float)) and not isinstance(at, bool) else None


#: Groups of a row whose figures are columns of `frame`, by path.
GROUPS = ("memory", "paging", "time", "launches", "display", "energy")


def frame(document: Document) -> pl.DataFrame:
    """A frame with the rows of the document: columns for what identifies a row, the varied values,
    and every figure by its path.
    """
    rows = [_columns(row) for row in document.rows]
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame([{name: row.get(name) for name in names} for row in rows], infer_schema_length=None, strict=False)


def _columns(row: Row) -> dict[str, str | float | int | bool | None]:
    head = ("world", "kind", "design", "policy", "swap", "app_policy", "killer", "machine", "workload", "seed", "seeds", "invalid")
    columns: dict[str, str | float | int | bool | None] = {name: getattr(row, name) for name in head}
    columns |= row.point
    for group in GROUPS:
        columns |= _figures(group, getattr(row, group))
    for name, medium in row.media.items():
        columns |= _figures(f"media.{name}", medium)
    for path, (low, high) in row.interval.items():
        columns |= {f"{path}.low": low, f"{path}.high": high}
    return columns


def _figures(path: str, value: object) -> dict[str, str | float | int | bool | None]:
    if isinstance(value, BaseModel):
        parts = {f"{path}.{name}": getattr(value, name) for name in type(value).model_fields}
    elif isinstance(value, dict):
        parts = {f"{path}.{name}": part for name, part in value.items()}
    else:
        return {path: float(value)} if isinstance(value, (int, float)) and not isinstance(value, bool) else {}
    return {name: figure for inner, part in parts.items() for name, figure in _figures(inner, part).items()}
