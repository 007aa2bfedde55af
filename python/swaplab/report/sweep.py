"""The report section of a sweep: the Pareto-optimal outcomes as a figure and a table, and the
effect of each varied key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from swaplab.analysis.outcomes import BY_PATH, OUTCOMES, Outcome, main_outcome
from swaplab.analysis.registry import is_bound
from swaplab.analysis.verdict import number
from swaplab.core.model import Document, Row
from swaplab.core.statistics import pareto
from swaplab.report.figure import Figure
from swaplab.report.origin import kinds_of, mixed_kinds, origin, workload_name
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import color

#: Approximate maximum number of marks in a figure. More outcomes are first binned into cells, to
#: limit the size of the page.
MARKS = 1500
#: Maximum number of rows in the table of best outcomes.
SHOWN = 30
#: If a key has more values than this, they are binned into ranges.
VALUES = 24
#: Outcomes that can be the x axis; the first one that all rows know and that differs between rows
#: is used.
PRICES = ("memory.total_dram_bytes", "paging.flash_write_bytes", "paging.nvm_write_bytes", "energy.total_j", "launches.kills")


@dataclass(frozen=True)
class _Data:
    """The outcomes `x` and `y` of each row in their units, with the row's design and varied values
    as texts.
    """

    frame: pl.DataFrame
    first: Outcome
    second: Outcome
    varied: list[str]


def section(document: Document, rows: Sequence[Row], key: str) -> Section:
    """Build the section about the points of one workload in one world."""
    counted = [row for row in rows if row.invalid is None and not (row.replay is not None and row.replay.filter_limited)]
    second = main_outcome(counted)
    title = f"Sweep of {workload_name(rows[0])} ({rows[0].world})"
    left_out = len(rows) - len(counted)
    evidence = (
        [*mixed_kinds(rows), f"{left_out:,} outcomes are not valid, or below what the trace's filter allows, and left out."]
        if left_out
        else mixed_kinds(rows)
    )
    if second is None or len(counted) < 2:
        return Section(
            key=key,
            title=title,
            kinds=kinds_of(rows),
            verdict="No verdict: no outcome counts.",
            evidence=evidence,
            figures=[],
            tables=[],
            provenance=origin(document, rows),
            warnings=list(document.warnings),
        )
    data = _data(counted, second)
    best = data.frame[pareto(list(data.frame.select("x", "y").iter_rows()))]
    points = len({tuple(sorted((name, str(value)) for name, value in row.point.items())) for row in rows})
    evidence.insert(0, f"{points:,} points over {', '.join(data.varied) or 'nothing'}; {len(counted):,} outcomes count.")
    return Section(
        key=key,
        title=title,
        kinds=kinds_of(rows),
        verdict=_verdict(best, data),
        evidence=evidence,
        figures=[_trade(data, best, key), *(_effect(data, key, name) for name in data.varied)],
        tables=[_table(best, data)],
        provenance=origin(document, rows),
        warnings=list(document.warnings),
    )


def _data(rows: Sequence[Row], second: Outcome) -> _Data:
    def differs(outcome: Outcome) -> bool:
        values = [outcome.value(row) for row in rows]
        return None not in values and len(set(values)) > 1 and outcome != second

    known = [BY_PATH[path] for path in PRICES] + [outcome for outcome in OUTCOMES if outcome.path not in PRICES]
    first = next((outcome for outcome in known if differs(outcome)), second)
    names = dict.fromkeys(name for row in rows for name in row.point)
    varied = [name for name in names if len({str(row.point.get(name)) for row in rows}) > 1]
    if len({row.design for row in rows}) > 1:
        varied.insert(0, "design")
    lines = [
        {"x": first.value(row) or 0.0, "y": second.value(row) or 0.0, "design": row.design, "bound": is_bound(row.policy)}
        | {name: str(row.point.get(name, "")) for name in varied if name != "design"}
        for row in rows
    ]
    return _Data(pl.DataFrame(lines, infer_schema_length=None), first, second, varied)


def _verdict(best: pl.DataFrame, data: _Data) -> str:
    winner = f" (design {best['design'].mode().sort()[0]} most often)" if "design" in data.varied else ""
    outcomes_text = data.second.words if data.first == data.second else f"both {data.first.words} and {data.second.words}"
    return f"{best.height} of {data.frame.height:,} outcomes are Pareto-optimal in {outcomes_text}{winner}."


def _trade(data: _Data, best: pl.DataFrame, key: str) -> Figure:
    """Draw every outcome as a dot (binned if there are many), and the Pareto front as a stepped
    line.
    """
    cloud_data = data.frame.select("x", "y")
    if cloud_data.height > MARKS:
        side = int(MARKS**0.5)
        cell = [
            ((pl.col(c) - pl.col(c).min()) / (pl.col(c).max() - pl.col(c).min() + 1e-30) * side).floor().alias(f"{c}_cell") for c in "xy"
        ]
        groups = cloud_data.with_columns(cell).group_by("x_cell", "y_cell", maintain_order=True)
        cloud_data = groups.agg(pl.col("x").mean(), pl.col("y").mean(), n=pl.len())
    else:
        cloud_data = cloud_data.with_columns(n=pl.lit(1))
    line = best.with_columns(
        label=pl.format("{}: {} at {}", "design", pl.col("y").round(4).cast(pl.String), pl.col("x").round(2).cast(pl.String))
    )
    x = alt.X("x:Q", title=data.first.title, axis=alt.Axis(grid=False, tickCount=6), scale=alt.Scale(zero=False, nice=True))
    y = alt.Y("y:Q", title=data.second.title, axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=False))
    size = alt.Size("n:Q", legend=None, scale=alt.Scale(range=[10, 90])) if cloud_data["n"].max() != 1 else alt.value(16)
    cloud = alt.Chart(cloud_data).mark_point(filled=True, opacity=0.55, color=color("other"), aria=False).encode(x=x, y=y, size=size)
    steps = alt.Chart(line).mark_line(interpolate="step-after", strokeWidth=2, color=color("line-1"), aria=False).encode(x=x, y=y)
    dots = alt.Chart(line).mark_point(filled=True, size=45, opacity=1, color=color("line-1")).encode(x=x, y=y, description="label:N")
    chart = alt.layer(cloud, steps, dots)
    return Figure(
        key=f"{key}-trade",
        title=f"{data.second.title} against {data.first.words}",
        reading="Each gray dot is an outcome (larger where many meet); on the line, less of one costs more of the other.",
        data=data.frame,
        wide=chart.properties(width=940, height=340),
        narrow=chart.properties(width=260, height=260),
    )


def _effect(data: _Data, key: str, name: str) -> Figure:
    """Draw the median and interquartile range of the outcome at each value of one key; many numeric
    values are binned into 12 ranges.
    """
    amounts = _amounts(data.frame[name])
    frame = data.frame.with_columns(pl.Series("amount", amounts if amounts is not None else [0.0] * data.frame.height))
    frame = frame.with_columns(at=pl.col(name))
    if amounts is not None and frame[name].n_unique() > VALUES:
        low, high = min(amounts), max(amounts)
        width = (high - low) / 12 or 1.0
        starts = [low + min(11, math.floor((value - low) / width)) * width for value in amounts]
        frame = frame.with_columns(amount=pl.Series(starts), at=pl.Series([number(start, 3) for start in starts]))
    groups = frame.group_by("at").agg(
        pl.col("amount").first(),
        low=pl.col("y").quantile(0.25),
        median=pl.col("y").median(),
        high=pl.col("y").quantile(0.75),
        outcomes=pl.len(),
    )
    shown = groups.sort("amount" if amounts is not None else "median", "at").drop("amount")
    shown = shown.with_columns(
        label=pl.format("{}: median {} over {} outcomes", "at", pl.col("median").round(4).cast(pl.String), "outcomes")
    )
    axis = alt.Axis(ticks=False, domain=False, labelColor=color("ink"), labelLimit=220)
    base = alt.Chart(shown).encode(y=alt.Y("at:N", sort=shown["at"].to_list(), title=None, axis=axis))
    title = data.second.title
    x = alt.X("median:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    span = base.mark_rule(strokeWidth=5, opacity=0.35, color=color("line-2"), aria=False).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    dots = base.mark_point(filled=True, size=70, opacity=1, color=color("line-2")).encode(x=x, description="label:N")
    chart = alt.layer(span, dots)
    least = shown.sort("median", "at")["at"][0]
    return Figure(
        key=f"{key}-by-{name.replace('.', '-').replace('_', '-')}",
        title=f"Effect of {name}",
        reading=f"Dot: median over all other keys; bar: interquartile range, not a confidence interval. The median is lowest at {least}.",
        data=shown.drop("label"),
        wide=chart.properties(width=780, height=alt.Step(22)),
        narrow=chart.properties(width=180, height=alt.Step(22)),
    )


def _amounts(values: pl.Series) -> list[float] | None:
    """Parse values such as `5%`, `10%` or plain numbers; None unless all are numbers with the same
    unit.
    """
    parts = values.str.extract_groups(r"^([0-9.]+)\s*([A-Za-z%]*)$").struct.unnest()
    parts.columns = ["number", "unit"]
    if parts["unit"].null_count() or parts["unit"].n_unique() != 1:
        return None
    return parts["number"].cast(pl.Float64).to_list()


def _table(best: pl.DataFrame, data: _Data) -> Table:
    names = data.varied or ["design"]
    rows = [
        [Cell(str(row[name])) for name in names] + [Cell(number(row[axis])) for axis in ("x", "y")]
        for row in best.head(SHOWN).iter_rows(named=True)
    ]
    truncation_note = f" (the first {SHOWN} of {best.height}; all are in the first figure's data)" if best.height > SHOWN else ""
    return Table(f"Pareto-optimal outcomes{truncation_note}", [*names, data.first.title, data.second.title], rows)
