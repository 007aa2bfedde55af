"""The world `phone`: app launches on the core's simulated phone."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

from swaplab import _core
from swaplab.core.experiment import dumped
from swaplab.core.model import Experiment
from swaplab.worlds.result import CoreResult, Options, WorldResult
from swaplab.worlds.traces import local_trace, workload_name

PARALLEL = True

#: Columns that are not integers.
TEXTS = ("app", "owner", "start", "freed", "reason", "part", "design", "sender")
REALS = ("joules",)


def batches(points: list[Experiment]) -> list[list[int]]:
    """Put each point in a separate batch, as points share no work."""
    return [[index] for index in range(len(points))]


def run(points: list[Experiment], options: Options) -> WorldResult:
    """Simulate every design at every point. With `options.tables`, the result has the tables of the
    last point.
    """
    result = WorldResult([])
    for point in points:
        name = point.workload.launches
        if isinstance(name, str) and (Path(name).is_file() or "://" in name):
            local = str(local_trace(name))
            point = point.model_copy(update={"workload": point.workload.model_copy(update={"launches": local})})
        with tempfile.TemporaryDirectory(prefix="swaplab-") as folder:
            simulated = CoreResult.model_validate_json(
                _core.phone_rows(dumped(point), options.jobs, options.listener, folder if options.tables else None)
            )
            if options.tables:
                result.tables = {table.stem: _read(table) for table in sorted(Path(folder).glob("*.csv"))}
        for row in simulated.rows:
            row.workload = workload_name(name) if isinstance(name, str) else row.workload
        result.rows += simulated.rows
        result.warnings += simulated.warnings
    return result


def _read(table: Path) -> pl.DataFrame:
    """Read a table of the core by way of Parquet: swap_entries has millions of rows, whose text
    need not be in memory with the columns.
    """
    head = pl.read_csv(table, n_rows=0).columns
    schema = {name: pl.String if name in TEXTS else pl.Float64 if name in REALS else pl.Int64 for name in head}
    columns = table.with_suffix(".parquet")
    pl.scan_csv(table, schema=schema, low_memory=True).sink_parquet(columns, compression="lz4")
    table.unlink()
    return pl.read_parquet(columns)
