"""The report section of `swaplab papers nvm-cache`: storage accesses by size, replacement and
admission (Kim & Bahn, Section IV).
"""

from __future__ import annotations

import altair as alt
import polars as pl

from swaplab.analysis.results import NvmCache
from swaplab.analysis.verdict import number
from swaplab.report.figure import Figure
from swaplab.report.origin import input_lines
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import LINES, color

COUNTS = ("storage_reads", "storage_writes", "nvm_hits", "admitted", "bypassed", "nvm_writes")


def section(cache: NvmCache, key: str) -> Section:
    """Build the section about NVM as a cache before storage."""
    without = cache.storage_accesses_without_nvm
    frame = pl.DataFrame([point.model_dump() for point in cache.points])
    storage = pl.col("storage_reads") + pl.col("storage_writes")
    frame = frame.with_columns(storage=storage / max(1, without), cache=pl.format("{}, {}", "replacement", "admission"))
    best = frame.sort("storage", "size_bytes", "cache").row(0, named=True)
    return Section(
        key=key,
        title=f"NVM before storage, {cache.trace.name or 'a trace'}",
        kinds=[cache.kind],
        verdict=f"{_size(best['size_bytes'])} of NVM ({best['cache']}, filled by {best['fill']}) leave {100 * best['storage']:.1f} % "
        f"of the {without:,} storage accesses, the least of all points.",
        evidence=_admission(frame),
        figures=[_figure(frame, fill, key) for fill in frame["fill"].unique(maintain_order=True)],
        tables=[_table(frame)],
        provenance=input_lines(cache.trace),
    )


def _size(size: int) -> str:
    return f"{number(size / 2**20)} MiB"


def _admission(frame: pl.DataFrame) -> list[str]:
    """Describe the sizes at which each admission condition is better than admitting always, and
    those at which it is worse.
    """
    on = ["fill", "replacement", "size_bytes"]
    always = frame.filter(pl.col("admission") == "always").select(*on, always="storage")
    lines = []
    for rule in frame.filter(pl.col("admission") != "always")["admission"].unique(maintain_order=True):
        both = frame.filter(pl.col("admission") == rule).join(always, on=on)
        wins, costs = both.filter(pl.col("storage") < pl.col("always")), both.filter(pl.col("storage") > pl.col("always"))
        if both.is_empty():
            continue
        sentence = f"{rule} leaves fewer storage accesses than admitting always at {wins.height} of {both.height} points"
        for part, words in ((wins, "it wins from"), (costs, "it costs from")):
            if not part.is_empty():
                ends = [_size(int(size)) for size in (part["size_bytes"].min(), part["size_bytes"].max())]  # type: ignore[arg-type]
                sentence += f"; {words} {ends[0]} to {ends[1]}"
        lines.append(f"{sentence}.")
    return lines


def _figure(frame: pl.DataFrame, fill: str, key: str) -> Figure:
    data = frame.filter(pl.col("fill") == fill).sort("cache", "size_bytes")
    number = pl.col("storage").round(4).cast(pl.String)
    drawn = data.with_columns(
        mib=pl.col("size_bytes") / 2**20, label=pl.format("{} at {} bytes: {} of the accesses", "cache", "size_bytes", number)
    )
    shown = data["cache"].unique(maintain_order=True).to_list()
    scale = alt.Scale(domain=shown, range=[color(LINES[at % len(LINES)]) for at in range(len(shown))])
    base = alt.Chart(drawn).encode(
        x=alt.X(
            "mib:Q",
            title="NVM, MiB, log scale",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(grid=False, format="~s", tickCount=6),
        ),
        y=alt.Y("storage:Q", title="storage accesses, without NVM = 1", scale=alt.Scale(domainMin=0)),
        color=alt.Color("cache:N", title=None, sort=shown, scale=scale, legend=alt.Legend(symbolType="stroke", columns=2, labelLimit=220)),
    )
    chart = alt.layer(base.mark_line(strokeWidth=2, aria=False), base.mark_point(filled=True, size=36).encode(description="label:N"))
    return Figure(
        key=f"{key}-{fill}",
        title=f"Storage accesses by size of the NVM, filled by {fill}",
        reading="Lower is better. Above the line of the cache that admits always, admission control costs storage accesses.",
        data=data,
        wide=chart.properties(width=990, height=320),
        narrow=chart.properties(width=290, height=260),
    )


def _table(frame: pl.DataFrame) -> Table:
    rows = [
        [
            Cell(row["fill"]),
            Cell(_size(row["size_bytes"])),
            Cell(row["cache"]),
            Cell(f"{row['storage']:.4f}"),
            *(Cell(f"{row[c]:,}") for c in COUNTS),
        ]
        for row in frame.iter_rows(named=True)
    ]
    return Table("All points", ["fill", "size", "cache", "of all", *(c.replace("_", " ") for c in COUNTS)], rows, folded=True)
