"""A run's launches, memory, swap, stalls and kills over time as a `.pftrace`, for Perfetto's viewer and trace processor."""

from __future__ import annotations

import polars as pl
from pydantic import BaseModel, TypeAdapter

from swaplab import _core
from swaplab.core.model import Experiment

#: Tables that a trace is made of.
NEEDED = ("launches", "timeline", "kills")
US = 1000
#: Columns of the timeline: what the viewer calls them, their kind, and what one counts. A simulated phone's are in frames (None), a
#: kernel's in bytes and in microseconds of waiting.
COUNTERS: dict[str, tuple[str, str, int | None]] = {
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
Line = tuple[int, int] | tuple[int, int, str, str] | tuple[int, str, str]


class Track(BaseModel):
    """A track as the core takes it: a group, or lines of one kind (`slices`, `moments`, `bytes`, `count`, `nanoseconds`) under a group."""

    name: str
    under: int | None = None
    content: str | dict[str, list[Line]]


_TRACKS = TypeAdapter(list[Track])


def encoded(tracks: list[Track]) -> bytes:
    """The tracks in Perfetto's format."""
    return _core.perfetto_trace(_TRACKS.dump_json(tracks, exclude_none=True).decode())


def frame_bytes(experiment: Experiment) -> int:
    """Bytes of a frame in a simulated phone's tables."""
    return _core.size_bytes("machine.page_size", experiment.machine.page_size)


def tracks_of(launches: pl.DataFrame, timeline: pl.DataFrame, kills: pl.DataFrame, frame: int) -> list[Track]:
    """One group a design, of its first seed or repetition. Times in ns since the start of the run; a frame has `frame` bytes."""
    found: list[Track] = []
    again = "seed" if "seed" in launches.columns else "repetition"
    for design in launches["design"].unique(maintain_order=True):
        first = launches.filter(launches["design"] == design)[again][0]
        of_run, when, dead = (table.filter(pl.col("design") == design, pl.col(again) == first) for table in (launches, timeline, kills))
        group = len(found)
        found.append(Track(name=f"{design}, {again} {first}", content="group"))
        slices: list[Line] = []
        stalls: list[Line] = [(0, 0)]
        waited = 0
        for row in of_run.iter_rows(named=True):
            verb, category = ("launch", "cold start") if row["start"] == "cold" else ("switch", "resume")
            slices.append((row["at_ns"], row["ready_ns"], f"{verb} {row['app']}", category))
            # As the kernel's pressure counters do, this grows while somebody waits for memory.
            waited += row["ready_ns"] - row.get("cpu_ns", row["ready_ns"])
            stalls.append((row["at_ns"] + row["ready_ns"], waited))
        found.append(Track(name="launches and switches", under=group, content={"slices": slices}))
        for column, (name, kind, unit) in COUNTERS.items():
            if column in when.columns:
                lines: list[Line] = [(at, number * (unit or frame)) for at, number in when.select("at_ns", column).iter_rows()]
                found.append(Track(name=name, under=group, content={kind: lines}))
        if "cpu_ns" in of_run.columns:
            found.append(Track(name="memory stall of launches (PSI some)", under=group, content={"nanoseconds": stalls}))
        moments: list[Line] = [(row["at_ns"], f"kill {row['app']}", row["reason"]) for row in dead.iter_rows(named=True)]
        found.append(Track(name="kills", under=group, content={"moments": moments}))
    return found
