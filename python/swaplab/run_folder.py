"""The run folder: `runs/<time>-<name>/` with `manifest.json`, `summary.json`, `report.html`, and of launches the tables
and `report.pftrace`.

A folder is filled under a temporary name and renamed when it is complete, so a folder that is there is a whole one. The time is in
the folder's name only: the same run gives the same bytes in every file.
"""

from __future__ import annotations

import io
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swaplab import BadInput, NotSupported, __version__

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 1
#: Tables of a simulated phone's run, `NAME.parquet` each; a bench has the first two and kills.
TABLES = ("launches", "timeline", "swap_entries", "kills", "traffic", "energy")


def write_run(
    document: dict[str, Any],
    name: str,
    out_dir: str | os.PathLike[str] | None = None,
    seed: int = 0,
    tables: dict[str, pl.DataFrame] | None = None,
) -> Path:
    """Write the run folder of a command's JSON document under `out_dir` (default `runs`), each of `tables` as `NAME.parquet`; returns the
    path of its `report.html`."""
    from swaplab import report

    about = manifest(document, seed)
    files: dict[str, str | bytes] = {
        "manifest.json": _json(about),
        "summary.json": _json(document),
        "report.html": report.page(title(document, name), [(name, document)], made_with(about)),
    }
    files |= {f"{table}.parquet": _parquet(frame) for table, frame in (tables or {}).items()}
    if tables and "launches" in tables:
        from swaplab.report import perfetto

        launches, timeline, kills = (tables[table] for table in perfetto.NEEDED)
        found = perfetto.tracks(launches, timeline, kills, perfetto.frame_bytes(document))
        files["report.pftrace"] = perfetto.encoded(found)
    return write_folder(files, name, Path(out_dir or "runs")) / "report.html"


def manifest(document: dict[str, Any], seed: int) -> dict[str, Any]:
    """What it takes to say which run this was, and to run it again."""
    from importlib.metadata import version

    parts = document["runs"] if isinstance(document.get("runs"), list) else [document]
    devices: dict[str, Any] = {}
    for part in parts:
        for device in part.get("devices", {}).values():
            devices[str(device.get("name"))] = device
    return {
        "schema": SCHEMA,
        "command": sys.argv[1:] if Path(sys.argv[0]).name == "swaplab" else None,
        "kind": str(parts[0].get("kind", "simulated")),
        "experiment": [_experiment(part) for part in parts],
        "seed": seed,
        "versions": {
            "swaplab": __version__,
            "python": platform.python_version(),
            **{p: version(p) for p in ("polars", "altair", "vl-convert-python")},
        },
        "inputs": [
            *({key: part["trace"].get(key) for key in ("name", "path", "content_hash")} for part in parts if part.get("trace")),
            *({"path": path, "content_hash": content} for part in parts for path, content in part.get("inputs", {}).items()),
        ],
        "devices": devices,
    }


def _experiment(part: dict[str, Any]) -> dict[str, Any]:
    """The resolved experiment: as the command gives it, else read back from the points."""
    if part.get("experiment"):
        return dict(part["experiment"])
    points = part.get("points", [])
    return {
        "policies": list(dict.fromkeys(point["policy"] for point in points if "policy" in point)),
        "memory_pages": list(dict.fromkeys(point["memory_pages"] for point in points if "memory_pages" in point)),
        **{key: part[key] for key in ("first_touch", "mapping") if key in part},
    }


def made_with(manifest: dict[str, Any]) -> str:
    """One line of a manifest: the seed and what computed and drew the run."""
    versions = ", ".join(f"{name} {number}" for name, number in manifest.get("versions", {}).items())
    return f"Seed {manifest.get('seed')}. Made with {versions}."


def title(document: dict[str, Any], name: str) -> str:
    """A page title: the run's name and its traces."""
    if isinstance(document.get("runs"), list):
        traces = sum("trace" in part for part in document["runs"])
        return f"{name}: {traces} traces" + (", a simulated phone" if traces < len(document["runs"]) else "")
    trace = document.get("trace", {})
    return f"{name}: {trace.get('name') or Path(str(trace.get('path') or 'trace')).name}" if trace else name


def write_folder(files: dict[str, str | bytes], name: str, parent: Path) -> Path:
    """All files, or no folder."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{slug(name)}-", suffix=".part", dir=parent))
    except OSError as error:
        raise BadInput(f"{parent}: {error.strerror}; expected a folder to write the run into") from None
    try:
        for file, content in files.items():
            (part / file).write_bytes(content.encode() if isinstance(content, str) else content)
        part.chmod(0o755)
        stem = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{slug(name)}"
        for attempt in range(1, 1000):
            target = parent / (stem if attempt == 1 else f"{stem}-{attempt}")
            if not target.exists():
                part.rename(target)
                return target
        raise BadInput(f"{parent / stem}: a thousand runs in one second; expected a free name")
    finally:
        shutil.rmtree(part, ignore_errors=True)


def read_manifest(place: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The manifest of a run folder; None for a lone JSON document."""
    path = Path(place) / "manifest.json"
    return _parsed(path) if path.is_file() else None


def read_table(run: str | os.PathLike[str], table: str) -> pl.DataFrame:
    """One of `TABLES` from a run folder that has it: a simulated phone's, and of a bench launches, timeline and kills."""
    import polars as pl

    path = Path(run) / f"{table}.parquet"
    if not path.is_file():
        raise BadInput(f"{path}: not there; expected a run folder of 'swaplab sim --run' or 'swaplab bench -o'")
    try:
        return pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"{path}: {error}; expected the parquet table that swaplab wrote") from None


def read_run(place: str | os.PathLike[str]) -> dict[str, Any]:
    """The document of a run folder, or of a JSON file that a command printed."""
    path = Path(place)
    return _parsed(path / "summary.json" if path.is_dir() else path)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; expected a run folder or a JSON document of a command") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start}: not UTF-8; expected a JSON document") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}: line {error.lineno}: {error.msg}; expected a JSON document") from None
    except RecursionError:
        raise BadInput(f"{path}: nested too deep; expected a JSON document of a swaplab command") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise BadInput(f"{path}: no 'schema': {SCHEMA}; expected a JSON document of a swaplab command")
    return document


@contextmanager
def reading(place: str) -> Iterator[None]:
    """While a document that somebody else may have written is taken apart: what does not fit is its fault, said in one line."""
    try:
        yield
    except (BadInput, NotSupported):
        raise
    except Exception as error:  # a missing key, a number that is text, a frame polars will not build: all one thing to the reader
        found = " ".join(str(error).split())[:120]
        raise BadInput(f"{place}: {type(error).__name__}: {found}; expected a whole JSON document of a swaplab command") from error


def run_name(place: str | os.PathLike[str]) -> str:
    """What to call a run: its folder's name without the time, or the file's name."""
    path = Path(place)
    stem = path.resolve().name if path.is_dir() else path.stem
    return re.sub(r"^\d{8}T\d{6}Z-", "", stem)


def replace(path: Path, content: bytes) -> None:
    """Write a file under a temporary name beside it, then rename. A device or a pipe (`/dev/null`) is written to, a link stays a link."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
            return
        path = path.resolve()
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", suffix=".part", delete=False) as part:
            part.write(content)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; expected a place to write the file") from None
    try:
        os.chmod(part.name, 0o644)
        os.replace(part.name, path)
    except OSError as error:
        Path(part.name).unlink(missing_ok=True)
        raise BadInput(f"{path}: {error.strerror}; expected a place to write the file") from None


def slug(name: str) -> str:
    """A name as it may stand in a file name or an HTML id."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "run"


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
