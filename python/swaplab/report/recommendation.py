"""The report section of a recommendation: the diff, then each setting's effects with their
intervals.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from swaplab.analysis.outcomes import BY_PATH
from swaplab.analysis.recommend.result import Recommendation, SettingAdvice
from swaplab.analysis.verdict import plural
from swaplab.report.figure import Figure
from swaplab.report.launches import design_axis
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import color


def section(advised: Recommendation, key: str) -> Section:
    """Build the section about a recommendation."""
    chosen = [setting for setting in advised.settings if setting.recommended is not None]
    changes = "; ".join(f"{setting.name} = {setting.recommended} ({setting.why})" for setting in chosen)
    data = _effects(advised)
    words = BY_PATH[advised.goal].words
    aimed = data.filter((pl.col("path") == advised.goal) & pl.col("percent").is_not_null())
    return Section(
        key=key,
        title="Recommendation",
        kinds=[advised.kind],
        verdict=f"Set {changes}." if chosen else "Nothing is recommended. The evidence shows no setting better than what runs now.",
        evidence=_evidence(advised),
        figures=[_figure(aimed, data, key, words)] if aimed.height else [],
        tables=[*([_diff(chosen)] if chosen else []), *([_table(data)] if data.height else [])],
        provenance=[("baseline", advised.baseline), ("units", ", ".join(_short(unit) for unit in advised.units[:20]))],
        warnings=list(advised.warnings),
    )


def _short(unit: str) -> str:
    """Return a unit's name; a hash is truncated to 12 characters."""
    kind, _, name = unit.partition(" ")
    return f"{kind} {name[:12]}" if len(name) >= 40 and all(letter in "0123456789abcdef" for letter in name) else unit


def _evidence(advised: Recommendation) -> list[str]:
    lines = [
        f"{plural(advised.options, 'option')} over {plural(len(advised.units), 'unit')} (users, traces or apps); "
        "a setting's values are compared where nothing else differs, unit by unit.",
        f"Intervals hold at {100 * advised.confidence:g} % simultaneously for {plural(advised.comparisons, 'comparison')}.",
    ]
    if advised.together is not None:
        aim = next((effect for effect in advised.together.effects if effect.path == advised.goal), None)
        if aim is not None:
            lines.append(f"All settings together were tried ({advised.together.option}): {aim.text(BY_PATH[advised.goal].words)}.")
    elif sum(setting.recommended is not None for setting in advised.settings) > 1:
        lines.append("The settings were not tried together, and effects need not add up.")
    return lines + _not_recommended(advised)


def _not_recommended(advised: Recommendation) -> list[str]:
    """Say why each other setting stays as it is; those without effect share a line, and those that
    no two options differ in alone another.
    """
    others = [setting for setting in advised.settings if setting.recommended is None]
    without_effect = advised.without_effect
    not_compared = [setting.name for setting in others if not setting.values]
    grouped = {*without_effect, *not_compared}
    lines = [f"{setting.name}: {setting.why}." for setting in others if setting.name not in grouped]
    if without_effect:
        lines.append(f"No effect on {BY_PATH[advised.goal].words}, with any value tried: {', '.join(without_effect)}.")
    if not_compared:
        lines.append(f"No two options differ in one of these alone: {', '.join(not_compared)}.")
    return lines


def _effects(advised: Recommendation) -> pl.DataFrame:
    """Build a frame with a row per setting, value and outcome."""
    rows = [
        (setting.name, value.value, effect.path, effect.percent, effect.low, effect.high, effect.n, effect.absolute, effect.separated)
        for setting in advised.settings
        for value in setting.values
        for effect in value.effects
    ]
    numbers = dict.fromkeys(("percent", "low", "high"), pl.Float64)
    schema = {
        "setting": pl.String,
        "value": pl.String,
        "path": pl.String,
        **numbers,
        "n": pl.Int64,
        "absolute": pl.Boolean,
        "separated": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _figure(aimed: pl.DataFrame, data: pl.DataFrame, key: str, words: str) -> Figure:
    sign = (
        pl.when(~pl.col("separated"))
        .then(pl.lit("not separated"))
        .when(pl.col("high") < 0)
        .then(pl.lit("better"))
        .otherwise(pl.lit("worse"))
    )
    drawn = aimed.with_columns(
        what=pl.format("{} = {}", "setting", "value"),
        low=pl.col("low").fill_null(pl.col("percent")),
        high=pl.col("high").fill_null(pl.col("percent")),
        label=pl.format("{} = {}: {} %, n = {}", "setting", "value", pl.col("percent").round(2).cast(pl.String), "n"),
        sign=sign,
    )
    base = alt.Chart(drawn).encode(y=alt.Y("what:N", sort=drawn["what"].to_list(), title=None, axis=design_axis(330)))
    signs = {"better": color("better"), "worse": color("worse"), "not separated": color("other")}
    tone = alt.Color("sign:N", title=None, scale=alt.Scale(domain=list(signs), range=list(signs.values())))
    title = f"change of {words}, %"
    span = base.mark_rule(strokeWidth=5, opacity=0.35, aria=False).encode(x=alt.X("low:Q", title=title), x2="high:Q", color=tone)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("percent:Q", title=title), color=tone, description="label:N")
    zero = alt.Chart(drawn).mark_rule(color=color("ink"), strokeDash=[3, 2], aria=False).encode(x=alt.datum(0))
    chart = alt.layer(span, dots, zero)
    return Figure(
        key=f"{key}-effects",
        title=f"Effect of each value on {words}",
        reading="Dot: mean change against what is set now; bar: its interval. A bar that crosses the line shows no difference.",
        data=data,
        wide=chart.properties(width=660, height=alt.Step(24)),
        narrow=chart.properties(width=110, height=alt.Step(24)),
    )


def _diff(chosen: list[SettingAdvice]) -> Table:
    rows = [[Cell(setting.name), Cell(setting.set_by), Cell(setting.now or "-"), Cell(setting.recommended or "-")] for setting in chosen]
    return Table("What to set", ["setting", "set by", "now", "recommended"], rows)


def _table(data: pl.DataFrame) -> Table:
    rows = []
    for row in data.iter_rows(named=True):
        unit = "" if row["absolute"] else " %"
        span = "-" if row["low"] is None else f"{row['low']:+.2f} to {row['high']:+.2f}"
        percent = "-" if row["percent"] is None else f"{row['percent']:+.2f}{unit}"
        texts = [row["value"], BY_PATH[row["path"]].words, percent, span, str(row["n"])]
        rows.append([Cell(row["setting"]), *(Cell(text, faded=not row["separated"]) for text in texts)])
    return Table("Every effect", ["setting", "value", "outcome", "change", "interval", "units"], rows, folded=True)
