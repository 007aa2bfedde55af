"""The section of a comparison: each run against the baseline, outcome by outcome."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from swaplab.report.figure import Figure
from swaplab.report.page import Cell, Section, Table
from swaplab.report.replay import FULL_TONE, percent
from swaplab.report.theme import colour


def matches(document: dict[str, Any]) -> bool:
    return isinstance(document.get("comparison"), dict)


def section(document: dict[str, Any], key: str) -> Section:
    """Everything the page says of one `swaplab compare` document."""
    found = document["comparison"]
    base, rows = found["baseline"], found["outcomes"]
    main = rows[0]["metric"]
    means = [mean for mean in found["means"] if mean["metric"] == main]
    said = "; ".join(f"{mean['run']} has {percent(mean['mean_ratio'])} {_name(main)} than {base}" for mean in means)
    evidence = [f"Geometric mean over {means[0]['outcomes']} outcomes that both runs have, at the same memory each."] if means else []
    if found["fail_above_percent"] is not None:
        evidence.append(f"{found['regressions']} outcomes are more than {found['fail_above_percent']:g} % worse.")
    kinds = {run["kind"] for run in found["runs"]}
    if len(kinds) > 1:
        evidence.append(f"The runs are of different kinds ({', '.join(sorted(kinds))}): a model is not a measurement.")
    evidence += [f"Not compared: {line}." for line in found["missing"][:10]]
    columns = ["run", "what", "memory", "metric", base, "run's", "ratio"]
    return Section(
        key=key,
        title=f"Comparison with {base}",
        kind=str(document.get("kind", "simulated")),
        verdict=f"{said}." if said else "No verdict: no ratio can be formed.",
        evidence=evidence,
        figures=[_figure([row for row in rows if row["metric"] == main and row["ratio"] is not None], key, base, main)],
        tables=[Table(f"Every outcome as a ratio to {base}", columns, [_cells(row) for row in rows])],
        provenance=[(f"run {run['name']}", run["kind"]) for run in found["runs"]],
    )


def _name(metric: str) -> str:
    return {"io_time_ns": "I/O time", "launch_ms.mean": "launch time", "switch_ms.mean": "switch time"}.get(
        metric, metric.replace("_", " ")
    )


def _cells(row: dict[str, Any]) -> list[Cell]:
    ratio = row["ratio"]
    cells = [Cell(row[name]) for name in ("run", "case", "memory", "metric")]
    cells += [Cell(f"{row[name]:,.6g}") for name in ("baseline_value", "value")]
    return [*cells, Cell("-", faded=True) if ratio is None else Cell(f"{ratio:.3f}", tone=(ratio - 1) / FULL_TONE)]


def _figure(rows: list[dict[str, Any]], key: str, base: str, metric: str) -> Figure:
    data = pl.DataFrame(
        [{name: row[name] for name in ("run", "case", "memory", "baseline_value", "value", "ratio")} for row in rows],
        infer_schema_length=None,
    )
    # Worst first; a page of hundreds of outcomes shows those that moved most.
    moved = data.with_columns(by=(pl.col("ratio") - 1).abs()).sort("by", descending=True).head(40).sort("ratio", descending=True)
    drawn = moved.with_columns(
        what=pl.format("{} · {}", "case", "memory"),
        label=pl.format("{}: {} at {}: {} of {}", "run", "case", "memory", pl.col("ratio").round(3).cast(pl.String), pl.lit(base)),
    )
    order = drawn["what"].unique(maintain_order=True).to_list()
    axis = alt.Axis(ticks=False, domain=False, labelColor=colour("ink"), labelLimit=330)
    span = [float(min(1.0, data["ratio"].min())), float(max(1.0, data["ratio"].max()))] if data.height else [0.9, 1.1]  # type: ignore[arg-type, type-var]
    x = alt.X(
        "ratio:Q",
        title=f"{_name(metric)} relative to {base}",
        scale=alt.Scale(domain=span, nice=True, zero=False),
        axis=alt.Axis(grid=True, tickCount=5),
    )
    sign = alt.condition("datum.ratio > 1", alt.value(colour("worse")), alt.value(colour("better")))
    dots = (
        alt.Chart(drawn)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            y=alt.Y("what:N", sort=order, title=None, axis=axis),
            x=x,
            color=sign,
            shape=alt.Shape("run:N", title=None),
            description="label:N",
        )
    )
    one = alt.Chart(drawn).mark_rule(color=colour("ink"), strokeDash=[3, 2], aria=False).encode(x=alt.datum(1))
    chart = alt.layer(dots, one)
    shown = f" The {drawn.height} outcomes that moved most, of {data.height}." if drawn.height < data.height else ""
    return Figure(
        key=f"{key}-ratio",
        title=f"{_name(metric)[0].upper()}{_name(metric)[1:]} relative to {base}",
        reading=f"Left of the line is better than {base}.{shown}",
        data=data,
        wide=chart.properties(width=700, height=alt.Step(20)),
        narrow=chart.properties(width=120, height=alt.Step(20)),
    )
