"""The report section of a miss-ratio curve, and the size beyond which more memory has little
effect.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from swaplab.analysis.results import Curve
from swaplab.report.figure import Figure
from swaplab.report.origin import input_lines
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import color

#: Maximum number of sizes in the table.
SHOWN = 20


def section(curve: Curve, key: str) -> Section:
    """Build the section about a miss-ratio curve."""
    rows = [(point.memory_pages, point.miss_ratio, point.filter_limited) for point in curve.points]
    data = pl.DataFrame(rows, schema={"memory_pages": pl.Int64, "miss_ratio": pl.Float64, "filter_limited": pl.Boolean}, orient="row")
    data = data.sort("memory_pages")
    valid = data.filter(~pl.col("filter_limited"))
    limited = data.height - valid.height
    return Section(
        key=key,
        title=f"Miss-ratio curve of {curve.trace.name or 'a trace'}, {curve.policy}",
        kinds=[curve.kind],
        verdict=_verdict(valid, curve.policy),
        evidence=[f"{limited} sizes below what the trace's filter allows are drawn faint and left out of the verdict."] if limited else [],
        figures=[_figure(data, key, curve.policy)],
        tables=[_table(data)],
        provenance=[*input_lines(curve.trace), ("sample", f"{100 * curve.sample:g} % of the pages")],
    )


def _verdict(valid: pl.DataFrame, policy: str) -> str:
    """Name the smallest size that removes nine tenths of the misses that more memory can remove."""
    if valid.height < 2:
        return "No verdict: fewer than two memory sizes are within what the trace's filter allows."
    first, last = valid["miss_ratio"][0], valid["miss_ratio"][-1]
    if first <= last:
        return f"More memory removes no miss of {policy} between {valid['memory_pages'][0]:,} and {valid['memory_pages'][-1]:,} pages."
    enough = valid.filter(pl.col("miss_ratio") <= last + 0.1 * (first - last)).row(0, named=True)
    return (
        f"{enough['memory_pages']:,} pages remove nine tenths of the misses that memory can remove "
        f"(miss ratio {100 * enough['miss_ratio']:.3g} %, from {100 * first:.3g} % at {valid['memory_pages'][0]:,} pages)."
    )


def _figure(data: pl.DataFrame, key: str, policy: str) -> Figure:
    drawn = data.with_columns(label=pl.format("{} pages: miss ratio {}", "memory_pages", pl.col("miss_ratio").round(5).cast(pl.String)))
    base = alt.Chart(drawn).encode(
        x=alt.X("memory_pages:Q", title="memory, pages", axis=alt.Axis(grid=False, format="~s", tickCount=6)),
        y=alt.Y("miss_ratio:Q", title="miss ratio", axis=alt.Axis(format="~p", tickCount=5)),
    )
    line = base.mark_line(color=color("line-2"), strokeWidth=2, aria=False)
    dots = base.mark_point(filled=True, size=24, color=color("line-2")).encode(
        description="label:N", opacity=alt.condition("datum.filter_limited", alt.value(0.25), alt.value(1))
    )
    chart = alt.layer(line, dots)
    return Figure(
        key=f"{key}-miss-ratio",
        title=f"Miss ratio by memory, {policy}",
        reading="Where the line is steep, more memory saves many misses. Where it is flat, more memory saves none.",
        data=data,
        wide=chart.properties(width=990, height=320),
        narrow=chart.properties(width=290, height=260),
    )


def _table(data: pl.DataFrame) -> Table:
    step = max(1, -(-data.height // SHOWN))
    rows = [
        [Cell(f"{pages:,}"), Cell(f"{100 * ratio:.4f} %", faded=limited)] for pages, ratio, limited in data.gather_every(step).iter_rows()
    ]
    return Table("Miss ratio at some of the sizes", ["memory, pages", "miss ratio"], rows, folded=True)
