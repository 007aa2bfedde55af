"""The report section of `trace analyze`: distribution of accesses over data and over time, and
swap's share (Kim & Bahn, Section II). Its `Spread` is the result of that command; the one of
`core.model` has the quantiles of a delay.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from swaplab.analysis.results import Spread
from swaplab.report.figure import Figure
from swaplab.report.origin import input_lines
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import LINES, color

#: Number of cells of the drawing of addresses over time: horizontal and vertical.
CELLS = (120, 60)


def section(spread: Spread, key: str) -> Section:
    """Build the section about the accesses of a page or block trace."""
    top, single = spread.top_share["0.15"], spread.single_access_ratio
    evidence = [
        f"{spread.accesses:,} accesses to {spread.data:,} pages of data; {100 * spread.share_for_80_percent:.1f} % "
        "of the data take 80 % of the accesses.",
    ]
    if spread.swap is not None:
        evidence.append(
            f"Swap takes {spread.swap.accesses:,} accesses: {spread.swap.times:.2f} times as many in all as "
            "without it, had nothing else changed."
        )
    return Section(
        key=key,
        title=f"Accesses of {spread.trace.name or 'a trace'}",
        kinds=[spread.kind],
        verdict=f"The top 15 % of the data take {100 * top:.1f} % of the accesses; {100 * single:.1f} % of the data are accessed once.",
        evidence=evidence,
        figures=[_ranks(spread, key), *_addresses(spread, key)],
        tables=[_shares(spread), *_partitions(spread)],
        provenance=input_lines(spread.trace),
    )


def _ranks(spread: Spread, key: str) -> Figure:
    shares = spread.rank_cdf
    data = pl.DataFrame({"data": [at / (len(shares) - 1) for at in range(len(shares))], "accesses": shares})
    percent = alt.Axis(format="~p", tickCount=5)
    base = alt.Chart(data.with_columns(label=pl.format("top {} of the data: {} of the accesses", "data", pl.col("accesses").round(4))))
    base = base.encode(
        x=alt.X("data:Q", title="data, most accessed first", axis=percent), y=alt.Y("accesses:Q", title="accesses", axis=percent)
    )
    even = pl.DataFrame({"data": [0.0, 1.0], "accesses": [0.0, 1.0]})
    diagonal = alt.Chart(even).mark_line(color=color("soft"), strokeDash=[4, 4], aria=False).encode(x="data:Q", y="accesses:Q")
    line = base.mark_line(color=color("line-2"), strokeWidth=2, aria=False)
    dots = base.mark_point(filled=True, size=16, color=color("line-2")).encode(description="label:N")
    chart = alt.layer(diagonal, line, dots)
    return Figure(
        key=f"{key}-ranks",
        title="Accesses by rank of the data",
        reading="The further the line is above the dashed one (all data alike), the more accesses a small cache can serve.",
        data=data,
        wide=chart.properties(width=990, height=320),
        narrow=chart.properties(width=290, height=260),
    )


def _addresses(spread: Spread, key: str) -> list[Figure]:
    """Draw the addresses of accesses over time, counted in cells, which take a hundredth of the
    bytes of single dots.
    """
    if not spread.scatter:
        return []
    names = spread.partition_names or ["all"]
    rows = pl.DataFrame(spread.scatter, schema=["access", "page", "write", "partition"], orient="row")
    # A process's address space has large gaps, so pages are numbered in the order of their
    # addresses.
    on_device = bool(spread.partitions)
    place = pl.col("page") if on_device else pl.col("page").rank("dense")
    across, up = CELLS
    name = pl.col("partition").map_elements(lambda at: names[at] if at < len(names) else "all", return_dtype=pl.String)
    rows = rows.with_columns(place=place.cast(pl.Float64), partition=name)
    low, high = float(rows["place"].min()), float(rows["place"].max())  # type: ignore[arg-type]
    last = max(1, spread.accesses)
    cell = [
        (pl.col("access") * across // last).clip(0, across - 1).alias("time"),
        ((pl.col("place") - low) * up / max(1.0, high - low)).floor().clip(0, up - 1).cast(pl.Int64).alias("address"),
    ]
    data = rows.group_by(*cell, "partition").agg(sampled=pl.len(), written=pl.col("write").sum()).sort("time", "address", "partition")
    scale = (high - low) / up * (4096 / 2**20 if on_device else 1)
    start = low * (4096 / 2**20 if on_device else 1)
    shown = sorted(data["partition"].unique().to_list())
    drawn = data.with_columns(
        x=pl.col("time") * last / across,
        x2=(pl.col("time") + 1) * last / across,
        y=start + pl.col("address") * scale,
        y2=start + (pl.col("address") + 1) * scale,
        label=pl.format("{}: {} sampled accesses, {} of them writes", "partition", "sampled", "written"),
    )
    domain = [color(LINES[at % len(LINES)]) for at in range(len(shown))]
    cells = alt.Chart(drawn)
    chart = cells.mark_rect().encode(
        x=alt.X("x:Q", title="access", axis=alt.Axis(grid=False, format="~s", tickCount=6), scale=alt.Scale(nice=False)),
        x2="x2:Q",
        y=alt.Y("y:Q", title="address, MiB" if on_device else "page, in order of address", scale=alt.Scale(zero=False, nice=False)),
        y2="y2:Q",
        color=alt.Color("partition:N", title=None, sort=shown, scale=alt.Scale(domain=shown, range=domain)),
        opacity=alt.Opacity("sampled:Q", legend=None, scale=alt.Scale(type="sqrt", range=[0.25, 1])),
        description="label:N",
    )
    return [
        Figure(
            key=f"{key}-addresses",
            title="Address over time",
            reading=f"A cell is one stretch of time and addresses, darker where there are more accesses; {rows.height:,} are sampled.",
            data=data,
            wide=chart.properties(width=960, height=360),
            narrow=chart.properties(width=270, height=300),
        )
    ]


def _shares(spread: Spread) -> Table:
    rows = [
        [Cell(f"top {100 * float(share):.0f} % of the data"), Cell(f"{100 * taken:.2f} %")] for share, taken in spread.top_share.items()
    ]
    rows += [
        [Cell("data accessed once"), Cell(f"{100 * spread.single_access_ratio:.2f} %")],
        [Cell("data accessed more than once"), Cell(f"{100 * spread.multi_access_ratio:.2f} %")],
    ]
    return Table("Shares of the accesses, and of the data", ["of", "share"], rows)


def _partitions(spread: Spread) -> list[Table]:
    if not spread.partitions:
        return []
    rows = [
        [Cell(name), *(Cell(f"{number:,}") for number in (traffic.read_bytes, traffic.write_bytes, spread.partition_accesses.get(name, 0)))]
        for name, traffic in spread.partitions.items()
    ]
    return [Table("Requests by partition", ["partition", "bytes read", "bytes written", "page accesses"], rows)]
