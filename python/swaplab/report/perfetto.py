"""A simulated phone's run as a `.pftrace` for Perfetto's viewer and trace processor: launches, memory, swap, stalls, kills over time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swaplab import BadInput, _core

if TYPE_CHECKING:
    import polars as pl

FRAME = 4096
#: Columns of the timeline in frames, and what the viewer calls them.
MEMORY = {
    "free": "free memory",
    "app_anon": "apps, anonymous",
    "system_anon": "system, anonymous",
    "file": "file cache",
    "graphics": "graphics",
    "kernel": "kernel",
    "swap": "swapped out",
}


def write_perfetto(run: Path, output: Path) -> int:
    """Write the first seed of every scheme of the run folder `run`; returns the number of tracks. Raises `BadInput` for another run."""
    from swaplab.run_folder import replace

    found = tracks(*(_table(run, name) for name in ("launches", "timeline", "kills")))
    replace(output, _core.perfetto_trace(json.dumps(found)))
    return len(found)


def tracks(launches: pl.DataFrame, timeline: pl.DataFrame, kills: pl.DataFrame) -> list[dict[str, Any]]:
    """Tracks as the core takes them: one group a scheme. Times in ns since the start of the run."""
    found: list[dict[str, Any]] = []
    for scheme in launches["scheme"].unique(maintain_order=True):
        seed = launches.filter(launches["scheme"] == scheme)["seed"][0]
        of_run, when, dead = (table.filter(scheme=scheme, seed=seed) for table in (launches, timeline, kills))
        group = len(found)
        found.append({"name": f"{scheme}, seed {seed}", "content": "group"})

        def add(name: str, kind: str, rows: list[Any], under: int = group) -> None:
            found.append({"name": name, "under": under, "content": {kind: rows}})

        slices, stalls, waited = [], [[0, 0]], 0
        for row in of_run.iter_rows(named=True):
            verb, category = ("launch", "cold start") if row["start"] == "cold" else ("switch", "resume")
            slices.append([row["at_ns"], row["ready_ns"], f"{verb} {row['app']}", category])
            # As the kernel's pressure counters do, this grows while somebody waits for memory.
            waited += row["ready_ns"] - row["cpu_ns"]
            stalls.append([row["at_ns"] + row["ready_ns"], waited])
        add("launches and switches", "slices", slices)
        for column, name in MEMORY.items():
            add(name, "bytes", [[at, frames * FRAME] for at, frames in when.select("at_ns", column).iter_rows()])
        add("compressed pool", "bytes", [list(row) for row in when.select("at_ns", "pool_bytes").iter_rows()])
        add("apps alive", "count", [list(row) for row in when.select("at_ns", "live").iter_rows()])
        add("memory stall of launches (PSI some)", "nanoseconds", stalls)
        add("kills", "moments", [[row["at_ns"], f"kill {row['app']}", row["reason"]] for row in dead.iter_rows(named=True)])
    return found


def _table(run: Path, name: str) -> pl.DataFrame:
    import polars as pl

    path = run / f"{name}.parquet"
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(f"{path}: {error}; expected a table of a run that 'swaplab sim EXP.toml --run DIR' wrote") from None
