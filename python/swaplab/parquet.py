"""A trace as parquet: made from its csv by polars, as a stream."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from swaplab import BadInput, _core


def convert_to_parquet(trace: Path, reading: str, output: Path, listener: Callable[[int, int], None] | None = None) -> None:
    """Write `trace` to `output`: columns `page` (UInt64), `op`, and `app`, `class` where they are known."""
    import polars as pl

    if not output.parent.is_dir():
        raise BadInput(f"{output.parent}: no such folder; expected one to write {output.name} into")
    if output.exists() and not output.is_file():
        raise BadInput(f"{output}: not a regular file; expected one, as parquet is written from its end")
    output = output.resolve()  # a link stays one
    with tempfile.TemporaryDirectory(prefix=".convert-", dir=output.parent) as folder:
        text, part = Path(folder) / "trace.csv", Path(folder) / "trace.parquet"
        _core.trace_convert(trace, reading, "csv", text, listener)
        rows = pl.scan_csv(text, schema_overrides={"page": pl.UInt64})
        rows.with_columns(pl.exclude("page").cast(pl.Categorical)).sink_parquet(part)
        part.replace(output)
