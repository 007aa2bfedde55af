"""The report section of a comparison: each run against the baseline, figure by figure."""

from __future__ import annotations

import altair as alt
import polars as pl

from swaplab.analysis.compare import ComparedFigure, Comparison, conclusion
from swaplab.analysis.outcomes import BY_PATH
from swaplab.analysis.verdict import amount, plural
from swaplab.core.model import Kind
from swaplab.report.figure import Figure
from swaplab.report.launches import design_axis
from swaplab.report.page import Cell, Section, Table
from swaplab.report.replay import FULL_TONE
from swaplab.report.theme import color

#: Maximum number of outcomes in the figure; those with the greatest changes are drawn.
DRAWN = 40


def section(comparison: Comparison, key: str) -> Section:
    """Build the section about runs against a baseline run."""
    base, rows = comparison.baseline, comparison.outcomes
    main = rows[0].path
    kinds: list[Kind] = list(dict.fromkeys(kind for run in comparison.kinds.values() for kind in run))
    means = [mean for mean in comparison.means if mean.path == main]
    evidence = [f"Geometric mean over {plural(means[0].rows, 'row')} that both runs have."] if means else []
    if comparison.fail_above_percent is not None:
        evidence.append(f"{plural(comparison.regressions, 'figure')} more than {comparison.fail_above_percent:g} % worse.")
    if len(kinds) > 1:
        evidence.append(f"The runs are of different kinds ({', '.join(sorted(kinds))}), and each is marked: a model is not a measurement.")
    evidence += [f"Not compared: {line}." for line in comparison.missing[:10]]
    columns = ["run", "design", "workload", "point", "figure", base, "the run's", "ratio", "separated"]
    return Section(
        key=key,
        title=f"Comparison with {base}",
        kinds=kinds,
        verdict=conclusion(comparison).text,
        evidence=evidence,
        figures=[_figure([row for row in rows if row.path == main and row.ratio is not None], key, comparison)],
        tables=[Table(f"Every figure as a ratio to {base}", columns, [_cells(row, comparison) for row in rows])],
        provenance=[(f"run {name}", ", ".join(of)) for name, of in comparison.kinds.items()],
    )


def _marked(run: str, comparison: Comparison) -> str:
    """Return the run's name, with its kind if runs are of several kinds."""
    kinds = {kind for of in comparison.kinds.values() for kind in of}
    return f"{run} ({', '.join(comparison.kinds[run])})" if len(kinds) > 1 else run


def _cells(row: ComparedFigure, comparison: Comparison) -> list[Cell]:
    outcome = BY_PATH[row.path]
    cells = [Cell(text) for text in (_marked(row.run, comparison), row.design, row.workload.rsplit("/", 1)[-1], row.point, outcome.words)]
    cells += [Cell(amount(value * outcome.scale, outcome.unit)) for value in (row.baseline_value, row.value)]
    tone = None if row.ratio is None or not row.separated else (row.ratio - 1) / FULL_TONE
    ratio = Cell("-", faded=True) if row.ratio is None else Cell(f"{row.ratio:.3f}", tone=tone, faded=not row.separated)
    return [*cells, ratio, Cell("yes" if row.separated else "no")]


def _figure(rows: list[ComparedFigure], key: str, comparison: Comparison) -> Figure:
    words = BY_PATH[comparison.outcomes[0].path].words
    base = _marked(comparison.baseline, comparison)
    lines = [
        (
            _marked(row.run, comparison),
            " · ".join(part for part in (row.design, row.point) if part),
            row.baseline_value,
            row.value,
            row.ratio or 0.0,
            row.separated,
        )
        for row in rows
    ]
    schema = {
        "run": pl.String,
        "what": pl.String,
        "baseline_value": pl.Float64,
        "value": pl.Float64,
        "ratio": pl.Float64,
        "separated": pl.Boolean,
    }
    data = pl.DataFrame(lines, schema=schema, orient="row")
    most_changed = data.with_columns(by=(pl.col("ratio") - 1).abs()).sort("by", descending=True).head(DRAWN).sort("ratio", descending=True)
    drawn = most_changed.with_columns(
        label=pl.format("{}: {}: {} of {}", "run", "what", pl.col("ratio").round(3).cast(pl.String), pl.lit(base)),
        sign=pl.when(~pl.col("separated"))
        .then(pl.lit("not separated"))
        .when(pl.col("ratio") > 1)
        .then(pl.lit("more"))
        .otherwise(pl.lit("less")),
    )
    order = drawn["what"].unique(maintain_order=True).to_list()
    span = [float(min(1.0, *data["ratio"])), float(max(1.0, *data["ratio"]))] if data.height else [0.9, 1.1]
    x = alt.X(
        "ratio:Q",
        title=f"{words} relative to {base}",
        scale=alt.Scale(domain=span, nice=True, zero=False),
        axis=alt.Axis(grid=True, tickCount=5),
    )
    signs = {"less": color("better"), "more": color("worse"), "not separated": color("other")}
    tone = alt.Color("sign:N", title=None, scale=alt.Scale(domain=list(signs), range=list(signs.values())))
    dots = (
        alt.Chart(drawn)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            y=alt.Y("what:N", sort=order, title=None, axis=design_axis(330)),
            x=x,
            color=tone,
            shape=alt.Shape("run:N", title=None),
            description="label:N",
        )
    )
    equality = alt.Chart(drawn).mark_rule(color=color("ink"), strokeDash=[3, 2], aria=False).encode(x=alt.datum(1))
    chart = alt.layer(dots, equality)
    shown = f" The {drawn.height} rows that moved most, of {data.height}." if drawn.height < data.height else ""
    return Figure(
        key=f"{key}-ratio",
        title=f"{words[0].upper()}{words[1:]} relative to {base}",
        reading=f"Left of the line is less than {base}; gray: no difference is shown.{shown}",
        data=data,
        wide=chart.properties(width=660, height=alt.Step(20)),
        narrow=chart.properties(width=110, height=alt.Step(20)),
    )
