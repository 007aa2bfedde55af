"""Export of a run's launches, memory, swap, stalls and kills over time as a `.pftrace` for
Perfetto's viewer and trace processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl
from pydantic import BaseModel, TypeAdapter

from swaplab import _core
from swaplab.core.model import Experiment

#: Tables from which a trace is made.
NEEDED = ("launches", "timeline", "kills")
#: An optional table: the events of the kernel's tracepoints.
TRACEPOINTS = "tracepoints"
#: Columns of launches whose running sum is a track, and the names of the tracks.
WAITS = {
    "memory_wait_ns": "launches waited for memory (PSI some)",
    "io_wait_ns": "launches waited for block devices (PSI some)",
    "run_delay_ns": "launches waited for a processor",
}
US = 1000
#: Columns of the timeline: the names of their tracks, their kinds, and the factor to the track's
#: unit. None: the column is in page frames (a simulated phone's); a kernel's columns are in bytes
#: and in microseconds of stall.
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
#: Columns that are kept even if they have no values.
KEYS = ("seed", "repetition", "at_ns", "app", "reason", "length_ns")
Line = tuple[int, int] | tuple[int, int, str, str] | tuple[int, str, str]


class Track(BaseModel):
    """A track in the core's form: a group, or lines of one kind (`slices`, `moments`, `bytes`,
    `count`, `nanoseconds`) under a group.
    """

    name: str
    under: int | None = None
    content: str | dict[str, list[Line]]


_TRACKS = TypeAdapter(list[Track])


def encoded(tracks: list[Track]) -> bytes:
    """Encode the tracks in Perfetto's format."""
    return _core.perfetto_trace(_TRACKS.dump_json(tracks, exclude_none=True).decode())


def frame_bytes(experiment: Experiment) -> int:
    """Return the bytes of a page frame in a simulated phone's tables."""
    return _core.size_bytes("machine.page_size", experiment.machine.page_size)


def tracks_of(tables: Mapping[str, pl.DataFrame], frame: int) -> list[Track]:
    """Build a group of tracks per world and design, for its first seed or repetition, from the
    tables NEEDED and TRACEPOINTS (if present).

    Times are in ns since the start of the run; a page frame has `frame` bytes.
    """
    launches = tables["launches"]
    tracks: list[Track] = []
    keys = [name for name in ("world", "design") if name in launches.columns]
    worlds = launches["world"].n_unique() if "world" in keys else 1
    for values in launches.select(keys).unique(maintain_order=True).iter_rows():
        is_of_group = [pl.col(name) == value for name, value in zip(keys, values, strict=True)]
        present_tables = [tables[name] for name in (*NEEDED, TRACEPOINTS) if name in tables]
        parts = [_without_empty_columns(table.filter(*is_of_group)) for table in present_tables]
        run_key = next(name for name in ("seed", "repetition") if name in parts[0].columns and parts[0][name][0] is not None)
        first = parts[0][run_key][0]
        of_run, when, dead, *traced = (table.filter(pl.col(run_key) == first) if run_key in table.columns else table for table in parts)
        title = ": ".join(values if worlds > 1 else values[-1:])
        group = len(tracks)
        tracks += _group(f"{title}, {run_key} {first}", group, of_run, when, dead, frame)
        tracks += [track for table in traced for track in _traced(group, table)]
    return tracks


def _without_empty_columns(table: pl.DataFrame) -> pl.DataFrame:
    """Drop columns without values, which belong to other worlds."""
    return table[[column.name for column in table if column.null_count() < len(table) or column.name in KEYS]]


def _group(title: str, group: int, launches: pl.DataFrame, timeline: pl.DataFrame, kills: pl.DataFrame, frame: int) -> list[Track]:
    """Build the group of a run, whose track number is `group`, and the tracks under it."""
    tracks = [Track(name=title, content="group")]
    slices: list[Line] = []
    stalls: list[Line] = [(0, 0)]
    waited = 0
    for row in launches.iter_rows(named=True):
        verb, category = ("launch", "cold start") if row["start"] == "cold" else ("switch", "resume")
        slices.append((row["at_ns"], row["ready_ns"], f"{verb} {row['app']}", category))
        # Like the kernel's pressure counters, this grows while a task stalls on memory.
        waited += row["ready_ns"] - row.get("cpu_ns", row["ready_ns"])
        stalls.append((row["at_ns"] + row["ready_ns"], waited))
    tracks.append(Track(name="launches and switches", under=group, content={"slices": slices}))
    for column, (name, kind, unit) in COUNTERS.items():
        if column in timeline.columns:
            counts = timeline.select("at_ns", column).drop_nulls()
            lines: list[Line] = [(at, number * (unit or frame)) for at, number in counts.iter_rows()]
            tracks.append(Track(name=name, under=group, content={kind: lines}))
    if "cpu_ns" in launches.columns:
        tracks.append(Track(name="memory stall of launches (PSI some)", under=group, content={"nanoseconds": stalls}))
    for column, name in WAITS.items():
        if column in launches.columns:
            ends = (launches["at_ns"] + launches["ready_ns"]).to_list()
            sums: list[Line] = [(0, 0), *zip(ends, launches[column].cum_sum().to_list(), strict=True)]
            tracks.append(Track(name=name, under=group, content={"nanoseconds": sums}))
    moments: list[Line] = [(row["at_ns"], f"kill {row['app']}", row["reason"]) for row in kills.iter_rows(named=True)]
    tracks.append(Track(name="kills", under=group, content={"moments": moments}))
    return tracks


def _traced(group: int, table: pl.DataFrame) -> Iterator[Track]:
    """Build a track of spans and one of instants for each task and each position in a device's
    queue.
    """
    if table.is_empty():
        return
    for name in table["track"].unique().sort():
        of_track = table.filter(pl.col("track") == name)
        of_spans = of_track.drop_nulls("length_ns").select("at_ns", "length_ns", "name", "detail")
        of_moments = of_track.filter(pl.col("length_ns").is_null()).select("at_ns", "name", "detail")
        if len(of_spans):
            yield Track(name=name, under=group, content={"slices": list(of_spans.iter_rows())})
        if len(of_moments):
            yield Track(name=f"{name}, events", under=group, content={"moments": list(of_moments.iter_rows())})
