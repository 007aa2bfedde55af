"""The section of a sweep: the points no other beats, what each varied key does, and the best points as a table."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl
import polars.selectors as cs

from swaplab import BadInput
from swaplab.report.figure import Figure
from swaplab.report.page import Cell, Section, Table
from swaplab.report.pareto import front
from swaplab.report.theme import colour

#: A figure draws at most about this many marks; more points are gathered into cells first, so a page of 10,000 points stays light.
MARKS = 1500
#: Columns that say which choice an outcome is of: a replay's policy and scheme, a simulated scheme's name.
NAMED = ("policy", "scheme", "name")
#: Rows of the table of best points.
SHOWN = 30
UNITS = {"_ns": (1e-9, "s"), "_bytes": (1 / (1 << 20), "MiB"), "_j": (1.0, "J"), "_ms": (1.0, "ms"), "_pages": (1.0, "pages")}


def matches(document: dict[str, Any]) -> bool:
    return isinstance(document.get("sweep"), dict) and isinstance(document.get("points"), list)


def section(document: dict[str, Any], key: str) -> Section:
    """Everything the page says of one `swaplab sweep` document."""
    about = document["sweep"]
    first, second = about["objectives"]
    frame = pl.DataFrame(document["points"], infer_schema_length=None).select(~cs.nested())
    if missing := [name for name in (first, second) if name not in frame.columns]:
        raise BadInput(f"{key}: points without '{missing[0]}'; expected the summary of a sweep")
    valid = frame.filter(~pl.col("filter_limited")) if "filter_limited" in frame.columns else frame
    limited = frame.height - valid.height
    best = front(valid, first, second)
    varied = [name for name in about["varied"] if frame[name].n_unique() > 1]
    evidence = [f"{about['points']:,} points over {', '.join(varied) or 'nothing'}; {valid.height:,} outcomes count."]
    if limited:
        evidence.append(f"{limited:,} outcomes below 8 x the trace's filter are left out of every figure and verdict.")
    return Section(
        key=key,
        title="Sweep",
        kind=str(document.get("kind", "simulated")),
        verdict=_verdict(best, valid, first, second),
        evidence=evidence,
        figures=[_trade(valid, best, key, first, second), *(_effect(valid, key, name, second) for name in varied)] if valid.height else [],
        tables=[_table(best, varied, first, second)],
        provenance=[("points", f"{about['points']:,}"), *((name, text) for name, text in document.get("inputs", {}).items())],
    )


def words(name: str) -> str:
    """`io_time_ns` -> `I/O time, s`."""
    for suffix, (_, unit) in UNITS.items():
        if name.endswith(suffix):
            return f"{name.removesuffix(suffix).replace('_', ' ').replace('io ', 'I/O ')}, {unit}"
    return name.split(".")[-1].replace("_", " ")


def scale(name: str) -> float:
    return next((factor for suffix, (factor, _) in UNITS.items() if name.endswith(suffix)), 1.0)


def _verdict(best: pl.DataFrame, valid: pl.DataFrame, first: str, second: str) -> str:
    if best.is_empty():
        return "No verdict: no outcome counts."
    who = f" (policy {best['policy'].mode().sort()[0]} most often)" if "policy" in best.columns else ""
    both = " and ".join(words(name).split(",")[0] for name in (first, second))
    return f"{best.height} of {valid.height:,} outcomes are beaten by none in both {both}{who}."


def _trade(valid: pl.DataFrame, best: pl.DataFrame, key: str, first: str, second: str) -> Figure:
    """Every outcome as a dot (gathered where there are many), the front as a line of steps."""
    data = valid.select(x=pl.col(first) * scale(first), y=pl.col(second) * scale(second))
    if data.height > MARKS:
        side = int(MARKS**0.5)
        cell = [
            ((pl.col(c) - pl.col(c).min()) / (pl.col(c).max() - pl.col(c).min() + 1e-30) * side).floor().alias(f"{c}_cell") for c in "xy"
        ]
        data = (
            data.with_columns(cell)
            .group_by("x_cell", "y_cell", maintain_order=True)
            .agg(pl.col("x").mean(), pl.col("y").mean(), n=pl.len())
        )
    else:
        data = data.with_columns(n=pl.lit(1))
    extra = [name for name in NAMED if name in best.columns]
    who = pl.concat_str([pl.lit("")] + [pl.col(name) + pl.lit(": ") for name in extra])
    line = best.select(x=pl.col(first) * scale(first), y=pl.col(second) * scale(second), who=who).with_columns(
        label=pl.format("{}{} at {}", "who", pl.col("y").round(4).cast(pl.String), pl.col("x").round(2).cast(pl.String))
    )
    x = alt.X("x:Q", title=words(first), axis=alt.Axis(grid=False, format="~s", tickCount=6), scale=alt.Scale(zero=False, nice=True))
    y = alt.Y("y:Q", title=words(second), axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=False))
    size = alt.Size("n:Q", legend=None, scale=alt.Scale(range=[10, 90])) if data["n"].max() != 1 else alt.value(16)
    cloud = alt.Chart(data).mark_point(filled=True, opacity=0.55, color=colour("other"), aria=False).encode(x=x, y=y, size=size)
    steps = alt.Chart(line).mark_line(interpolate="step-after", strokeWidth=2, color=colour("line-1"), aria=False).encode(x=x, y=y)
    dots = alt.Chart(line).mark_point(filled=True, size=45, opacity=1, color=colour("line-1")).encode(x=x, y=y, description="label:N")
    chart = alt.layer(cloud, steps, dots)
    return Figure(
        key=f"{key}-trade",
        title=f"{words(second)} against {words(first)}",
        reading="Each grey dot is an outcome (larger where many meet); on the line, less of one costs more of the other.",
        data=valid.drop("hash", strict=False),
        wide=chart.properties(width=990, height=340),
        narrow=chart.properties(width=280, height=260),
    )


def _effect(valid: pl.DataFrame, key: str, name: str, second: str) -> Figure:
    """Median and middle half of the objective at each value of one key; a key with many values is cut into twelve ranges."""
    value = pl.col(second) * scale(second)
    number = valid[name].dtype.is_numeric()
    frame = valid
    amount = _amounts(valid[name]) if not number else None
    if amount is not None:
        frame, number = valid.with_columns(amount.alias(name)), True
    if number and frame[name].n_unique() > 24:
        low, high = float(frame[name].min()), float(frame[name].max())  # type: ignore[arg-type]
        frame = frame.with_columns((((pl.col(name) - low) / (high - low) * 12).floor().clip(0, 11) * (high - low) / 12 + low).alias(name))
    data = (
        frame.group_by(name)
        .agg(low=value.quantile(0.25), median=value.median(), high=value.quantile(0.75), outcomes=pl.len())
        .sort(name if number else "median")
    )
    shown = data.with_columns(
        at=pl.col(name).cast(pl.Float64).round(3).cast(pl.String).str.strip_suffix(".0") if number else pl.col(name).cast(pl.String)
    )
    shown = shown.with_columns(
        label=pl.format("{}: median {} over {} outcomes", "at", pl.col("median").round(4).cast(pl.String), "outcomes")
    )
    order = shown["at"].to_list()
    base = alt.Chart(shown).encode(
        y=alt.Y("at:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelColor=colour("ink"), labelLimit=160))
    )
    x = alt.X("median:Q", title=words(second), scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    span = base.mark_rule(strokeWidth=5, opacity=0.35, color=colour("line-2"), aria=False).encode(
        x=alt.X("low:Q", title=words(second)), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=70, opacity=1, color=colour("line-2")).encode(x=x, description="label:N")
    chart = alt.layer(span, dots)
    least = shown.sort("median")["at"][0]
    return Figure(
        key=f"{key}-by-{name.replace('.', '-').replace('_', '-')}",
        title=f"What {name} does",
        reading=f"Dot: median over all other keys; bar: the middle half. The median is lowest at {least}.",
        data=data,
        wide=chart.properties(width=860, height=alt.Step(22)),
        narrow=chart.properties(width=200, height=alt.Step(22)),
    )


def _amounts(values: pl.Series) -> pl.Series | None:
    """`5%`, `10%` as numbers, if every value is a number with one and the same unit."""
    parts = values.cast(pl.String).str.extract_groups(r"^([0-9.]+)\s*([A-Za-z%]+)$").struct.unnest()
    parts.columns = ["number", "unit"]
    if parts["unit"].null_count() or parts["unit"].n_unique() != 1:
        return None
    return parts["number"].cast(pl.Float64)


def _table(best: pl.DataFrame, varied: list[str], first: str, second: str) -> Table:
    named = [name for name in NAMED if name in best.columns]
    names = named + [name for name in varied if name.split(".")[-1] not in named]
    rows = []
    for row in best.head(SHOWN).iter_rows(named=True):
        cells = [Cell(str(row[name])) for name in names] + [Cell(f"{row[name] * scale(name):,.6g}") for name in (first, second)]
        rows.append(cells)
    more = f" (the first {SHOWN} of {best.height}; all are in the first figure's data)" if best.height > SHOWN else ""
    return Table(f"The points that none beats{more}", [*names, words(first), words(second)], rows)
