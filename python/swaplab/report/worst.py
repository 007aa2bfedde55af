"""The report section of the launches with the longest waits, each with its waterfall: a bar of its
consecutive parts.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from swaplab.analysis.explain import PARTS, Waterfall, waterfall, worst
from swaplab.core.model import Document, Kind
from swaplab.report.figure import Figure
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import color

KEY = "worst-launches"
#: Maximum number of bars.
MOST = 8
#: Senders that are listed for a launch.
MOST_SENDERS = 3
GROUPS = {
    "the app's own work": {"cpu_ns"},
    "faults, decompression": {"fault_cpu_ns", "decompress_ns"},
    "swap reads": {part for part in PARTS if part.startswith("swap_read")} | {"direct_read_ns"},
    "files": {"file_read_ns", "file_cache_ns", "file_write_ns"},
    "queue, reclaim, write-back": {"queue_ns", "direct_reclaim_ns", "write_back_ns", "kswapd_ns"},
}


def sections(document: Document, launches: pl.DataFrame, waits: pl.DataFrame | None = None) -> list[Section]:
    """Build the section; empty if the table has no launch of a simulated phone that waited.
    `waits`: the table `queue_waits`.
    """
    if set(PARTS) - set(launches.columns):
        return []
    table = launches.filter(pl.col("world") == "phone").drop("world") if "world" in launches.columns else launches
    slowest = [launch for launch in worst(table, "launches", most=MOST) if launch.waited_ms > 0]
    if not slowest:
        return []
    kind: Kind = next((row.kind for row in document.rows if row.world == "phone"), "simulated")
    bars = []
    for launch in slowest:
        row = table.filter(design=launch.design, seed=launch.seed, launch=launch.launch).row(0, named=True)
        bars.append((f"{launch.launch} {launch.app}, {launch.design}, {launch.start}", waterfall(row, waits)))
    head, first = ["launch", "start", "ready, ms", "waited, ms", "longest wait", "of it, ms"], slowest[0]
    lines = [
        [
            f"{launch.launch} {launch.app}, {launch.design}",
            launch.start,
            f"{launch.ready_ms:,.0f}",
            f"{launch.waited_ms:,.0f}",
            launch.longest or "-",
        ]
        + [f"{launch.longest_ms:,.0f}"]
        for launch in slowest
    ]
    return [
        Section(
            key=KEY,
            title="The worst launches",
            kinds=[kind],
            verdict=f"Launch {first.launch}, {first.app} under {first.design}, waited longest: {first.waited_ms:,.0f} ms.",
            evidence=[
                "Waits exclude the app's own work. Of each design, app and kind of start only the worst is listed;"
                " `swaplab explain RUN LAUNCH` explains a launch under every design."
            ],
            figures=[_figure(bars)],
            tables=[Table("Waits of the worst launches", head, [list(map(Cell, line)) for line in lines]), *_queueing_tables(bars)],
        )
    ]


def _queueing_tables(bars: list[tuple[str, Waterfall]]) -> list[Table]:
    """Build the table of queueing times by sender; none if no launch waited in a queue."""
    lines = [[label, wait.what, f"{wait.ms:,.1f}"] for label, bar in bars for wait in bar.queue[:MOST_SENDERS]]
    caption = f"Queueing behind the requests of others (at most {MOST_SENDERS} senders of each launch)"
    return [Table(caption, ["launch", "behind", "ms"], [list(map(Cell, line)) for line in lines])] if lines else []


def _figure(bars: list[tuple[str, Waterfall]]) -> Figure:
    group = {part.removesuffix("_ns"): name for name, parts in GROUPS.items() for part in parts}
    rows = [(label, group[step.part], step.what, step.from_ms, step.from_ms + step.ms) for label, bar in bars for step in bar.steps]
    data = pl.DataFrame(rows, schema=["launch", "group", "part", "from_ms", "to_ms"], orient="row")
    order = [label for label, _ in bars]
    tones = alt.Scale(domain=list(GROUPS), range=[color(f"line-{at + 1}") for at in range(len(GROUPS))])
    chart = (
        alt.Chart(data)
        .mark_bar(aria=False)
        .encode(
            x=alt.X("from_ms:Q", title="ms since the request", axis=alt.Axis(tickCount=4)),
            x2="to_ms:Q",
            y=alt.Y("launch:N", sort=order, title=None, axis=alt.Axis(labelLimit=260)),
            color=alt.Color("group:N", title=None, sort=list(GROUPS), scale=tones),
        )
    )
    small = chart.encode(
        y=alt.Y("launch:N", sort=order, title=None, axis=alt.Axis(labelLimit=120)),
        color=alt.Color("group:N", title=None, sort=list(GROUPS), scale=tones, legend=alt.Legend(columns=1)),
    )
    return Figure(
        key=f"{KEY}-waterfall",
        title="Waterfall of each launch",
        reading="From the request until the app is ready. Parts that overlap on a phone are drawn one after the other.",
        data=data,
        wide=chart.properties(width=560, height=alt.Step(24)),
        narrow=small.properties(width=190, height=alt.Step(24)),
    )
