"""The section of a recommendation: the diff, then each setting's effects with their intervals."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from swaplab.recommend.options import OUTCOMES
from swaplab.report.figure import Figure
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import colour


def matches(document: dict[str, Any]) -> bool:
    return isinstance(document.get("recommendation"), dict)


def section(document: dict[str, Any], key: str) -> Section:
    """Everything the page says of one `swaplab recommend` document."""
    found = document["recommendation"]
    chosen = [one for one in found["settings"] if one["recommended"] is not None]
    said = "; ".join(f"{one['name']} = {one['recommended']} ({one['why']})" for one in chosen)
    data = _effects(found)
    return Section(
        key=key,
        title="Recommendation",
        kind=str(document["kind"]),
        verdict=f"Set {said}." if chosen else "Nothing is recommended: the evidence separates no setting from what runs now.",
        evidence=_evidence(found),
        figures=[_figure(data.filter(pl.col("outcome") == found["goal"]), data, key, OUTCOMES[found["goal"]])] if data.height else [],
        tables=[_diff(chosen), *([_table(data)] if data.height else [])],
        provenance=[("baseline", found["baseline"]["name"]), ("units", ", ".join(found["units"][:20]))],
    )


def _evidence(found: dict[str, Any]) -> list[str]:
    lines = [
        f"{found['options']} options over {len(found['units'])} units (users, traces or apps); a setting's values are compared where "
        f"nothing else differs, unit by unit.",
        f"Intervals hold at {100 * found['confidence']:g} % for all {found['comparisons']} comparisons together.",
    ]
    if found["together"]:
        [aim] = [one for one in found["together"]["effects"] if one["outcome"] == found["goal"]]
        lines.append(f"All at once was tried ({found['together']['option']}): {OUTCOMES[found['goal']]} {aim['percent']:+.1f} %.")
    elif sum(one["recommended"] is not None for one in found["settings"]) > 1:
        lines.append("The settings were not tried all at once: effects need not add up.")
    return lines + [f"{one['name']}: {one['why']}." for one in found["settings"] if one["recommended"] is None]


def _effects(found: dict[str, Any]) -> pl.DataFrame:
    """A row a setting, value and outcome."""
    rows = [
        {"setting": one["name"], "value": value["value"], **effect}
        for one in found["settings"]
        for value in one["values"]
        for effect in value["effects"]
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _figure(aimed: pl.DataFrame, data: pl.DataFrame, key: str, words: str) -> Figure:
    drawn = aimed.with_columns(
        what=pl.format("{} = {}", "setting", "value"),
        low=pl.col("low").fill_null(pl.col("percent")),
        high=pl.col("high").fill_null(pl.col("percent")),
        label=pl.format("{} = {}: {} %, n = {}", "setting", "value", pl.col("percent").round(2).cast(pl.String), "n"),
    )
    sign = (
        pl.when(~pl.col("separated"))
        .then(pl.lit("not separated"))
        .when(pl.col("high") < 0)
        .then(pl.lit("better"))
        .otherwise(pl.lit("worse"))
    )
    drawn = drawn.with_columns(sign=sign)
    axis = alt.Axis(ticks=False, domain=False, labelColor=colour("ink"), labelLimit=330)
    base = alt.Chart(drawn).encode(y=alt.Y("what:N", sort=drawn["what"].to_list(), title=None, axis=axis))
    signs = {"better": colour("better"), "worse": colour("worse"), "not separated": colour("other")}
    tone = alt.Color("sign:N", title=None, scale=alt.Scale(domain=list(signs), range=list(signs.values())))
    title = f"change of {words}, %"
    span = base.mark_rule(strokeWidth=5, opacity=0.35, aria=False).encode(x=alt.X("low:Q", title=title), x2="high:Q", color=tone)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("percent:Q", title=title), color=tone, description="label:N")
    zero = alt.Chart(drawn).mark_rule(color=colour("ink"), strokeDash=[3, 2], aria=False).encode(x=alt.datum(0))
    chart = alt.layer(span, dots, zero)
    return Figure(
        key=f"{key}-effects",
        title=f"What each value does to {words}",
        reading="Dot: mean change against what is set now; bar: its interval. A bar that crosses the line shows no difference.",
        data=data,
        wide=chart.properties(width=700, height=alt.Step(24)),
        narrow=chart.properties(width=120, height=alt.Step(24)),
    )


def _diff(chosen: list[dict[str, Any]]) -> Table:
    rows = [[Cell(one["name"]), Cell(one["set_by"]), Cell(one["now"] or "-"), Cell(one["recommended"])] for one in chosen]
    return Table("What to set", ["setting", "set by", "now", "recommended"], rows)


def _table(data: pl.DataFrame) -> Table:
    rows = []
    for row in data.iter_rows(named=True):
        unit = "" if row["absolute"] else " %"
        span = "-" if row["low"] is None else f"{row['low']:+.2f} to {row['high']:+.2f}"
        percent = "-" if row["percent"] is None else f"{row['percent']:+.2f}{unit}"
        texts = [row["value"], OUTCOMES[row["outcome"]], percent, span, str(row["n"])]
        rows.append([Cell(row["setting"]), *(Cell(text, faded=not row["separated"]) for text in texts)])
    return Table("Every effect", ["setting", "value", "outcome", "change", "interval", "units"], rows, folded=True)
