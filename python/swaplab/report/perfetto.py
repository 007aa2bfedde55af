"""A run's launches, memory, swap, stalls and kills over time as a `.pftrace`, for Perfetto's viewer and trace processor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swaplab import _core
from swaplab.run_folder import read_table, replace

if TYPE_CHECKING:
    import polars as pl

#: Tables that a trace is made of.
NEEDED = ("launches", "timeline", "kills")
US = 1000
#: Columns of the timeline: what the viewer calls them, their kind, and what one counts. A simulated phone's are in frames (None), a
#: bench's in bytes and in microseconds of waiting.
COUNTERS = {
    "free": ("free memory", "bytes", None),
    "app_anon": ("apps, anonymous", "bytes", None),
    "system_anon": ("system, anonymous", "bytes", None),
    "file": ("file cache", "bytes", None),
    "graphics": ("graphics", "bytes", None),
    "kernel": ("kernel", "bytes", None),
    "swap": ("swapped out", "bytes", None),
    "anon_bytes": ("apps, anonymous", "bytes", 1),
    "file_bytes": ("file cache", "bytes", 1),
    "swap_bytes": ("swapped out", "bytes", 1),
    "pool_bytes": ("compressed pool", "bytes", 1),
    "live": ("apps alive", "count", 1),
    "swap_in_bytes": ("swapped in so far", "bytes", 1),
    "swap_out_bytes": ("swapped out so far", "bytes", 1),
    "psi_some_us": ("memory stall (PSI some)", "nanoseconds", US),
    "psi_full_us": ("memory stall (PSI full)", "nanoseconds", US),
    "kernel_kills": ("kills by the kernel so far", "count", 1),
}


def write_perfetto(run: Path, output: Path) -> int:
    """Write the first seed or repetition of every scheme of the run folder `run`; returns the number of tracks. Raises `BadInput` for
    another run."""
    summary = run / "summary.json"
    document = json.loads(summary.read_text()) if summary.is_file() else {}
    launches, timeline, kills = (read_table(run, name) for name in NEEDED)
    found = tracks(launches, timeline, kills, frame_bytes(document))
    replace(output, encoded(found))
    return len(found)


def encoded(found: list[dict[str, Any]]) -> bytes:
    """The tracks in Perfetto's format."""
    return _core.perfetto_trace(json.dumps(found))


def frame_bytes(document: dict[str, Any]) -> int:
    """Bytes of a frame in the run's tables: a simulated phone has pages of 4 or 16 KiB."""
    phone = ((document.get("experiment") or {}).get("sim") or {}).get("phone") or {}
    return int(phone.get("page_kib", 4)) * 1024


def tracks(launches: pl.DataFrame, timeline: pl.DataFrame, kills: pl.DataFrame, frame: int) -> list[dict[str, Any]]:
    """Tracks as the core takes them: one group a scheme. Times in ns since the start of the run; a frame has `frame` bytes."""
    found: list[dict[str, Any]] = []
    again = "seed" if "seed" in launches.columns else "repetition"
    for scheme in launches["scheme"].unique(maintain_order=True):
        first = launches.filter(launches["scheme"] == scheme)[again][0]
        of_run, when, dead = (table.filter(**{"scheme": scheme, again: first}) for table in (launches, timeline, kills))
        group = len(found)
        found.append({"name": f"{scheme}, {again} {first}", "content": "group"})

        def add(name: str, kind: str, rows: list[Any], under: int = group) -> None:
            found.append({"name": name, "under": under, "content": {kind: rows}})

        slices, stalls, waited = [], [[0, 0]], 0
        for row in of_run.iter_rows(named=True):
            verb, category = ("launch", "cold start") if row["start"] == "cold" else ("switch", "resume")
            slices.append([row["at_ns"], row["ready_ns"], f"{verb} {row['app']}", category])
            # As the kernel's pressure counters do, this grows while somebody waits for memory.
            waited += row["ready_ns"] - row.get("cpu_ns", row["ready_ns"])
            stalls.append([row["at_ns"] + row["ready_ns"], waited])
        add("launches and switches", "slices", slices)
        for column, (name, kind, unit) in COUNTERS.items():
            if column in when.columns:
                add(name, kind, [[at, number * (unit or frame)] for at, number in when.select("at_ns", column).iter_rows()])
        if "cpu_ns" in of_run.columns:
            add("memory stall of launches (PSI some)", "nanoseconds", stalls)
        add("kills", "moments", [[row["at_ns"], f"kill {row['app']}", row["reason"]] for row in dead.iter_rows(named=True)])
    return found
