"""The causes of a launch's waiting time, by design, as a waterfall from the request until the app
is ready; and the worst launches.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from swaplab.core.bases import StrictModel
from swaplab.core.errors import BadInput
from swaplab.core.model import Kind

#: Parts of a launch in the table `launches`, in the order of the waterfall.
PARTS = {
    "cpu_ns": "the app's own work",
    "fault_cpu_ns": "faults on the processor",
    "decompress_ns": "decompression",
    "swap_read_dram_ns": "swap reads, DRAM",
    "swap_read_pool_ns": "swap reads, compressed pool",
    "swap_read_nvm_ns": "swap reads, NVM",
    "swap_read_flash_ns": "swap reads, flash",
    "swap_read_sd_card_ns": "swap reads, SD card",
    "direct_read_ns": "lines of pages mapped in NVM",
    "file_read_ns": "file reads",
    "file_cache_ns": "file reads, NVM cache",
    "file_write_ns": "file writes and journal, fsync",
    "queue_ns": "queue of the device",
    "direct_reclaim_ns": "direct reclaim",
    "write_back_ns": "write-back of other pages",
    "kswapd_ns": "kswapd on the only processor",
}
#: Senders of the table `queue_waits`: whose requests were ahead in the queue of a device.
SENDERS = {
    "swap-out": "pages of {owner} on their way to swap",
    "journal": "the file system's journal",
    "garbage-collection": "garbage collection of the device",
}
#: Default number of launches in the list of the worst.
WORST = 10


class Step(StrictModel):
    """A part of a launch: its start and duration in ms, and its share of the launch."""

    part: str
    what: str
    from_ms: float
    ms: float
    share: float


class QueueWait(StrictModel):
    """Queueing time in ms behind the requests of one sender; `owner` is the owner of the pages, if
    the sender is swap-out.
    """

    sender: str
    owner: str | None
    what: str
    ms: float


class Waterfall(StrictModel):
    """A launch under one design. `queue`: its queueing times by sender, the longest first; empty
    without the table `queue_waits`.
    """

    design: str
    start: str
    ready_ms: float
    faults: int
    swapped_in: int
    file_reads: int
    steps: list[Step]
    queue: list[QueueWait]


class Explanation(StrictModel):
    """A launch under every design of a run. Parts that overlap on a phone are listed one after the
    other.
    """

    document: Literal["explanation"] = "explanation"
    kind: Kind
    launch: int
    seed: int
    app: str
    at_s: float
    designs: list[Waterfall]


class WorstLaunch(StrictModel):
    """A launch with its longest part other than the app's own work; `longest` is None if there was
    no other part.
    """

    design: str
    seed: int
    launch: int
    app: str
    start: str
    ready_ms: float
    waited_ms: float
    longest: str | None
    longest_ms: float


def explain(
    launches: pl.DataFrame,
    place: str,
    kind: Kind,
    launch: int,
    design: str | None = None,
    seed: int | None = None,
    waits: pl.DataFrame | None = None,
) -> Explanation:
    """Explain the launch with number `launch`, counted from 1, of the given or first seed; `place`
    names the table in errors.

    `launches` and `waits` are the run's tables `launches` and `queue_waits`. Raises BadInput for an
    unknown launch, design or seed.
    """
    table = _checked(launches, place, design, seed)
    rows = table.filter(launch=launch).to_dicts()
    if not rows:
        last = max(table["launch"].to_list(), default=0)
        raise BadInput(f"LAUNCH {launch}: not in {place}; expected 1 to {last}")
    first = rows[0]
    return Explanation(
        kind=kind,
        launch=launch,
        seed=first["seed"],
        app=first["app"],
        at_s=first["at_ns"] / 1e9,
        designs=[waterfall(row, waits) for row in rows],
    )


def worst(launches: pl.DataFrame, place: str, design: str | None = None, seed: int | None = None, most: int = WORST) -> list[WorstLaunch]:
    """List the launches with the longest waiting time apart from the app's own work, longest first.

    Of each design, app and kind of start, only the worst launch is listed.
    """
    table = _checked(launches, place, design, seed).with_columns(waited=pl.col("ready_ns") - pl.col("cpu_ns"))
    table = table.sort("waited", "design", "launch", descending=[True, False, False])
    table = table.unique(["design", "app", "start"], keep="first", maintain_order=True).head(most)
    slowest = []
    for row in table.iter_rows(named=True):
        longest = max((part for part in PARTS if part != "cpu_ns"), key=lambda part: row[part])
        slowest.append(
            WorstLaunch(
                design=row["design"],
                seed=row["seed"],
                launch=row["launch"],
                app=row["app"],
                start=row["start"],
                ready_ms=row["ready_ns"] / 1e6,
                waited_ms=row["waited"] / 1e6,
                longest=PARTS[longest] if row[longest] else None,
                longest_ms=row[longest] / 1e6,
            )
        )
    return slowest


def _checked(table: pl.DataFrame, place: str, design: str | None, seed: int | None) -> pl.DataFrame:
    if missing := {"design", "seed", "launch", "app", "start", "at_ns", "ready_ns", *PARTS} - set(table.columns):
        raise BadInput(f"{place}: no column '{min(missing)}'; expected the table of launches that a run of the world 'phone' writes")
    for option, wanted in (("design", design), ("seed", seed)):
        known = table[option].unique(maintain_order=True).to_list()
        if wanted is not None and wanted not in known:
            raise BadInput(f"--{option} {wanted}: not in {place}; expected one of: {', '.join(map(repr, known))}")
    table = table.filter(pl.col("seed") == (seed if seed is not None else table["seed"].min()))
    return table if design is None else table.filter(design=design)


def waterfall(row: dict[str, int | float | str], waits: pl.DataFrame | None = None) -> Waterfall:
    """Convert a row of the table to consecutive steps in ms; parts of zero duration are left out.
    `waits`: the table `queue_waits`.
    """
    steps, at = [], 0.0
    ready = float(row["ready_ns"])
    for part, words in PARTS.items():
        if ns := float(row[part]):
            steps.append(Step(part=part.removesuffix("_ns"), what=words, from_ms=at / 1e6, ms=ns / 1e6, share=ns / ready))
            at += ns
    return Waterfall(
        design=str(row["design"]),
        start=str(row["start"]),
        ready_ms=ready / 1e6,
        faults=int(row["faults"]),
        swapped_in=int(row["swapped_in"]),
        file_reads=int(row["file_reads"]),
        steps=steps,
        queue=[] if waits is None else _queue(waits, str(row["design"]), int(row["seed"]), int(row["launch"])),
    )


def _queue(waits: pl.DataFrame, design: str, seed: int, launch: int) -> list[QueueWait]:
    """List the queueing times of one launch, the longest first."""
    rows = waits.filter(design=design, seed=seed, launch=launch).sort("wait_ns", descending=True, maintain_order=True)
    return [
        QueueWait(
            sender=row["sender"],
            owner=row["owner"] or None,
            what=SENDERS.get(row["sender"], row["sender"]).format(owner=row["owner"]),
            ms=row["wait_ns"] / 1e6,
        )
        for row in rows.iter_rows(named=True)
    ]
