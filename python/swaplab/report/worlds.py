"""The report section that compares the same designs across worlds: a table, a figure, and the goals
that the simulator meets.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from swaplab.analysis.side_by_side import Goal, Pair, WorldComparison
from swaplab.analysis.verdict import amount, number, plural
from swaplab.report.figure import Figure
from swaplab.report.launches import design_axis
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import LINES, color


def section(comparison: WorldComparison, key: str) -> Section:
    """Build the section about the same designs in several worlds."""
    reference = f"{comparison.reference} ({comparison.worlds[comparison.reference]})"
    lines = [f"Every difference is the other world's figure minus that of {reference}; worlds share no seeds, so intervals are unpaired."]
    lines += [goal_line(goal) for goal in comparison.goals if goal.pairs or goal.idle]
    for ranking in comparison.rankings:
        if ranking.tau is not None:
            lines.append(
                f"{ranking.world} ranks {plural(ranking.designs, 'design')} by median resume delay with Kendall's tau "
                f"{number(ranking.tau, 3)} against {comparison.reference} (wanted: {ranking.wanted:g})."
            )
    lines += [f"Not compared: {line}." for line in comparison.missing[:10]]
    return Section(
        key=key,
        title=f"The same designs in {', '.join(comparison.worlds)}",
        kinds=list(dict.fromkeys(comparison.worlds.values())),
        verdict=verdict_text(comparison),
        evidence=lines,
        figures=_figures(comparison, key),
        tables=[_table(comparison)],
        provenance=[(f"world {world}", kind) for world, kind in comparison.worlds.items()],
    )


def verdict_text(comparison: WorldComparison) -> str:
    """Describe how many of the goals' figures each world meets."""
    sentences = []
    for world in comparison.worlds:
        goals = [goal for goal in comparison.goals if goal.world == world and goal.pairs]
        if goals:
            met, pairs = sum(goal.met for goal in goals), sum(goal.pairs for goal in goals)
            sentences.append(f"{world} is within the goals of {comparison.reference} in {met} of {plural(pairs, 'figure')}")
    if sentences:
        return f"{'; '.join(sentences)}."
    idle = any(goal.idle for goal in comparison.goals)
    return f"No verdict: {'nothing was swapped or killed in any world' if idle else 'no figure is known in two worlds'}."


def goal_line(goal: Goal) -> str:
    """Describe how many figures of one kind are within the goal. Idle ones (see `Pair`) are counted
    separately.
    """
    within = plural(goal.within, "kill") if goal.is_count else f"{100 * goal.within:g} %"
    none = f"{goal.idle} with none in either world, whose agreement is no evidence"
    if not goal.pairs:
        return f"{goal.world}, {goal.what}: {none}."
    text = f"{goal.world}, {goal.what}: {goal.met} of {goal.pairs} within {within}"
    if goal.median is not None and goal.largest is not None:
        median, largest = (number(value) if goal.is_count else f"{100 * value:.1f} %" for value in (goal.median, goal.largest))
        text += f"; median difference {median}, largest {largest}"
    return f"{text}; {none}." if goal.idle else f"{text}."


def _label(pair: Pair) -> str:
    return f"{pair.design}, {pair.point}" if pair.point else pair.design


def _table(comparison: WorldComparison) -> Table:
    columns = [
        "design",
        "figure",
        comparison.reference,
        "other world",
        "its figure",
        "difference",
        "95 % interval",
        "relative",
        "within the goal",
    ]
    rows = []
    for pair in comparison.pairs:
        values = [_value(pair.reference.value, pair.unit), f"{pair.other.world} ({pair.other.kind})", _value(pair.other.value, pair.unit)]
        difference = "-" if pair.difference is None else _signed(pair.difference, pair.unit)
        interval = "-" if pair.interval is None else " to ".join(_signed(end) for end in pair.interval)
        relative = "-" if pair.relative is None else f"{100 * pair.relative:+.1f} %"
        met = {None: "-", True: "yes", False: "no"}[pair.met]
        is_uncertain = pair.interval is not None and pair.interval[0] <= 0 <= pair.interval[1]
        texts = [pair.what, *values, difference, interval, relative, met]
        rows.append([Cell(_label(pair)), *(Cell(text, faded=is_uncertain and at in (4, 5, 6)) for at, text in enumerate(texts))])
    return Table("Every design in every world (faded: the interval of the difference holds 0)", columns, rows)


def _value(value: float | None, unit: str) -> str:
    return "-" if value is None else amount(value, unit)


def _signed(value: float, unit: str = "") -> str:
    return f"{'+' if value > 0 else ''}{amount(value, unit)}"


def _figures(comparison: WorldComparison, key: str) -> list[Figure]:
    """Draw a panel per figure of the rows, with a dot per world.

    Worlds differ in color and shape, and each is labeled with its kind, because different kinds
    share an axis.
    """
    frames, panels = [], []
    for path in dict.fromkeys(pair.path for pair in comparison.pairs):
        data = _sides(comparison, path)
        if data["world"].n_unique() > 1:
            frames.append(data)
            panels.append(_panel(comparison, data))
    if not panels:
        return []
    return [
        Figure(
            key=f"{key}-worlds",
            title="The same designs by world",
            reading="Dot: the figure of a world; bar: its 95 % interval where it has one. Colors and shapes mark worlds and their kinds.",
            data=pl.concat(frames),
            wide=alt.vconcat(*(panel.properties(width=760, height=alt.Step(12)) for panel in panels)),
            narrow=alt.vconcat(*(panel.properties(width=180, height=alt.Step(12)) for panel in panels)),
        )
    ]


def _sides(comparison: WorldComparison, path: str) -> pl.DataFrame:
    lines = []
    for pair in comparison.pairs:
        if pair.path == path:
            figure = f"{pair.what}, {pair.unit}" if pair.unit else pair.what
            for side in (pair.reference, pair.other):
                if side.value is not None:
                    low, high = side.interval or (side.value, side.value)
                    lines.append((figure, _label(pair), f"{side.world} ({side.kind})", side.value, low, high))
    texts = {"figure": pl.String, "design": pl.String, "world": pl.String}
    schema = {**texts, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(lines, schema=schema, orient="row").unique(["design", "world"], keep="first", maintain_order=True)


def _panel(comparison: WorldComparison, data: pl.DataFrame) -> alt.LayerChart | alt.FacetChart:
    title = str(data["figure"][0])
    drawn = data.with_columns(label=pl.format("{} in {}: {} {}", "design", "world", "figure", pl.col("value").round(3)))
    worlds = [f"{world} ({kind})" for world, kind in comparison.worlds.items()]
    tones = alt.Scale(domain=worlds, range=[color(LINES[at % len(LINES)]) for at in range(len(worlds))])
    order = data["design"].unique(maintain_order=True).to_list()
    base = alt.Chart(drawn).encode(
        y=alt.Y("design:N", sort=order, title=None, axis=design_axis()),
        yOffset=alt.YOffset("world:N", sort=worlds),
        color=alt.Color("world:N", title=None, sort=worlds, scale=tones),
    )
    span = base.mark_rule(strokeWidth=5, opacity=0.35, aria=False).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    shape = alt.Shape("world:N", title=None, sort=worlds, scale=alt.Scale(domain=worlds))
    x = alt.X("value:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=x, shape=shape, description="label:N")
    return alt.layer(span, dots)
