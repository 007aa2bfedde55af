"""What a sweep has found so far: a parquet file a batch, each whole or absent, joined into `results.parquet` at the end.

A row has its point's index and hash, the keys that vary, and the outcome. The joined file has rows in the order of the design, so it is
the same bytes however many workers found them and in whatever order.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from swaplab import BadInput

RESULTS = "results.parquet"


class Store:
    """The folder of one sweep."""

    def __init__(self, folder: Path, resume: bool) -> None:
        self.folder, self.parts = folder, folder / "parts"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{folder}: {error.strerror}; expected a folder for the sweep") from None
        if not resume and any(folder.iterdir()):
            raise BadInput(f"{folder}: not empty; expected a new folder, or --resume to go on with a sweep")
        self.parts.mkdir(exist_ok=True)
        for left in folder.rglob("*.part"):
            left.unlink()

    def done(self) -> set[str]:
        """Hashes of the points whose rows are here."""
        files = self._files()
        return set(pl.scan_parquet(files).select("hash").unique().collect()["hash"]) if files else set()

    def add(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of one batch, all or none."""
        frame = pl.DataFrame(rows, infer_schema_length=None)
        _whole(self.parts / f"{name}.parquet", frame)

    def finish(self, order: Iterable[str], first: list[str]) -> pl.DataFrame:
        """Join the parts into `results.parquet`: the points of `order`, each once; columns `first`, then the outcome's by name."""
        wanted = pl.DataFrame({"hash": list(order)}, schema={"hash": pl.String}).with_row_index("index")
        parts = [pl.read_parquet(file).drop("index", strict=False) for file in self._files()]
        found = pl.concat(parts, how="diagonal_relaxed").unique(["hash", "row"], keep="first")
        frame = wanted.join(found, on="hash", how="inner").sort("index", "row")
        head = ["index", "hash", "row", *first]
        frame = frame.select(*head, *sorted(set(frame.columns) - set(head)))
        _whole(self.folder / RESULTS, frame)
        for file in self.parts.iterdir():
            file.unlink()
        self.parts.rmdir()
        return frame

    def abandon(self) -> None:
        """Leave no folder behind in which nothing is."""
        for folder in (self.parts, self.folder):
            with suppress(OSError):  # there is something
                folder.rmdir()

    def _files(self) -> list[Path]:
        earlier = [self.folder / RESULTS] if (self.folder / RESULTS).exists() else []
        return sorted(self.parts.glob("*.parquet")) + earlier


def _whole(path: Path, frame: pl.DataFrame) -> None:
    """Written under a temporary name, then renamed."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=".part")
    os.close(handle)
    frame.write_parquet(name)
    os.chmod(name, 0o644)
    os.replace(name, path)
