"""The two figures of a replay: I/O time by part relative to the baseline (Fig. 4 of Yoon, Cho and
Bahn 2022), and miss ratio by memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from swaplab.analysis.registry import is_bound
from swaplab.analysis.relative import PARTS
from swaplab.report.figure import Figure
from swaplab.report.theme import LINES, color

#: Bars are cut at this ratio: a policy at 18 times the baseline would hide the differences between
#: the others.
CUT = 2.0
NAMES = {"swap_read": "swap read", "swap_write": "swap write", "file_read": "file read"}


def size_text(pages: int, page_size: int) -> str:
    size = float(pages * page_size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.3g} {unit}" if size < 100 else f"{size:.0f} {unit}"
        size /= 1024
    raise AssertionError("the loop returns at its last unit")


def io_time(rows: pl.DataFrame, key: str, baseline: str, order: Sequence[str], page_size: int) -> Figure | None:
    """Draw stacked bars, a panel per memory size; None if the baseline never accessed storage."""
    rows = rows.filter(pl.col("fig4_ratio").is_not_null())
    if rows.is_empty():
        return None
    parts = [f"fig4_{part}" for part in PARTS]
    data = rows.select("memory", "frames", "design", "filter_limited", *parts, "fig4_ratio", *(f"{part}_ns" for part in PARTS))
    counted = data.filter(~pl.col("filter_limited"))
    others = counted.filter(pl.col("design") != baseline)["fig4_ratio"]
    share = counted.filter(pl.col("design") == baseline)["fig4_swap_write"].to_list()
    reading = f"Shorter bars are cheaper; the line is {baseline} = 1. {(others < 1).sum()} of {others.len()} points are below it"
    reading += f"; swap writes make up {100 * sum(share) / len(share):.0f} % of {baseline}'s bars." if share else "."
    cut = float(data["fig4_ratio"].max() or 0) > CUT  # type: ignore[arg-type]
    reading += f" Bars end at {CUT:g}; an arrow and its number mark those that are longer." if cut else ""
    sizes = data.select("memory", "frames", "filter_limited").iter_rows()
    panels = [_panel(memory, frames, limited, page_size) for memory, frames, limited in sizes]
    drawn = data.with_columns(panel=pl.Series(panels, dtype=pl.String))
    many = drawn["panel"].n_unique()
    return Figure(
        key=f"{key}-io-time",
        title=f"I/O time relative to {baseline}",
        reading=f"{reading} File writes are left out here, as in Fig. 4 of Yoon, Cho and Bahn 2022.",
        data=data,
        wide=_bars(drawn, order, width=960 // min(many, 5) - 18, columns=min(many, 5)),
        narrow=_bars(drawn, order, width=250, columns=1),
    )


def _panel(memory: str, frames: int, limited: bool, page_size: int) -> str:
    text = f"{memory}  ·  {size_text(frames, page_size)}"
    return text + "  (below filter limit)" if limited else text


def _pieces(drawn: pl.DataFrame) -> pl.DataFrame:
    """Compute a panel's marks: layer `bar`, the parts of each bar, stacked here so that bars can be
    cut; layer `end`, the bar's number.
    """
    number = pl.col("fig4_ratio").map_elements(lambda ratio: f"{ratio:.2f}", return_dtype=pl.String)
    ends = drawn.select(
        "panel",
        "design",
        "filter_limited",
        layer=pl.lit("end"),
        end=pl.col("fig4_ratio").clip(0, CUT),
        text=pl.when(pl.col("fig4_ratio") > CUT).then(pl.lit("▸ ") + number).otherwise(number),
    )
    bars = []
    for at, part in enumerate(PARTS):
        start = pl.sum_horizontal(pl.lit(0.0), *(f"fig4_{before}" for before in PARTS[:at]))
        numbers = (pl.col(name).round(3).cast(pl.String) for name in (f"fig4_{part}", "fig4_ratio"))
        label = pl.format("{} at {}: {} {} of {} in all", "design", "memory", pl.lit(NAMES[part]), *numbers)
        end = (start + pl.col(f"fig4_{part}")).clip(0, CUT)
        piece = drawn.select(
            "panel", "design", "filter_limited", layer=pl.lit("bar"), part=pl.lit(NAMES[part]), start=start, end=end, label=label
        )
        bars.append(piece.filter(pl.col("start") < CUT))
    return pl.concat([*bars, ends], how="diagonal")


def _bars(drawn: pl.DataFrame, order: Sequence[str], width: int, columns: int) -> alt.TopLevelMixin:
    pieces = _pieces(drawn)
    panels = pieces["panel"].unique(maintain_order=True).to_list()
    longest = max(1.0, float(pieces["end"].max()))  # type: ignore[arg-type]
    scale = alt.Scale(domain=[0, longest * width / (width - 44)], nice=False)
    names = alt.Scale(domain=list(NAMES.values()), range=[color(part.replace("_", "-")) for part in PARTS])
    y = alt.Y("design:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelColor=color("ink"), labelPadding=6))
    fade = alt.condition("datum.filter_limited", alt.value(0.28), alt.value(1))
    base = alt.Chart(pieces)
    bars = base.transform_filter("datum.layer == 'bar'").mark_bar(height=13)
    bars = bars.encode(
        x=alt.X("start:Q", title=None, scale=scale, axis=alt.Axis(values=[0, 1, 2], format="d", grid=False)),
        x2="end:Q",
        y=y,
        color=alt.Color("part:N", title=None, sort=list(NAMES.values()), scale=names),
        opacity=fade,
        description="label:N",
    )
    equality = base.mark_rule(strokeWidth=1, color=color("ink"), strokeDash=[3, 2], aria=False).encode(x=alt.datum(1))
    texts = base.transform_filter("datum.layer == 'end'").mark_text(align="right", fontSize=11, aria=False, color=color("ink"))
    texts = texts.encode(x=alt.value(width), y=y, text="text:N", opacity=fade)
    head = alt.Header(labelAnchor="start", labelPadding=4)
    layers = alt.layer(bars, equality, texts).properties(width=width, height=alt.Step(20))
    return layers.facet(facet=alt.Facet("panel:N", sort=panels, title=None, header=head), columns=columns, spacing=18)


def miss_ratio(rows: pl.DataFrame, key: str, baseline: str, order: Sequence[str], page_size: int) -> Figure | None:
    """Draw a line per design over memory. The baseline, the best three and the bound are named,
    others are gray. None for one size.
    """
    if rows["frames"].n_unique() < 2:
        return None
    bounds = [design for design, policy in rows.select("design", "policy").unique(maintain_order=True).iter_rows() if is_bound(policy)]
    ratio = pl.col("faults") / pl.col("references")
    data = rows.select("design", "policy", "frames", "filter_limited", "faults", "references", miss_ratio=ratio).drop_nulls("miss_ratio")
    named = [baseline, *(name for name in order if name != baseline and name not in bounds)][:4] + bounds[:1]
    drawn = data.with_columns(
        memory=pl.col("frames") * (page_size / 2**20),
        line=pl.when(pl.col("design").is_in(named)).then("design").otherwise(pl.lit("other policies")),
        label=pl.format("{} at {} pages: miss ratio {}", "design", "frames", pl.col("miss_ratio").round(5).cast(pl.String)),
    )
    colors = dict(zip(named, [color("ink"), *(color(line_tone) for line_tone in LINES)], strict=False)) | {"other policies": color("other")}
    shown = [name for name in (*named, "other policies") if name in set(drawn["line"])]
    low = data.filter(~pl.col("filter_limited"), ~pl.col("design").is_in(bounds)).sort("miss_ratio", "design")
    positive = data.filter(pl.col("miss_ratio") > 0)["miss_ratio"].to_list()
    log = bool(positive) and len(positive) == data.height and max(positive) > 20 * min(positive)
    reading = "Lower is better: the share of references that fault."
    if low.height:
        best = low.row(0, named=True)
        reading += f" The lowest is {100 * best['miss_ratio']:.3g} %, {best['design']} at {best['frames']:,} pages."
    reading += " Fewer faults need not be less I/O time: a fault that writes a dirty page costs more."
    unit = "MiB"
    return Figure(
        key=f"{key}-miss-ratio",
        title="Miss ratio by memory",
        reading=reading,
        data=data,
        wide=_lines(drawn, shown, colors, unit, log, width=990, height=320, columns=0),
        narrow=_lines(drawn, shown, colors, unit, log, width=290, height=260, columns=2),
    )


def _lines(
    drawn: pl.DataFrame, shown: list[str], colors: dict[str, str], unit: str, log: bool, width: int, height: int, columns: int
) -> alt.TopLevelMixin:
    steps = [10.0**power * digit for power in range(-7, 1) for digit in (1, 2, 5)] if log else alt.Undefined
    base = alt.Chart(drawn).encode(
        x=alt.X("memory:Q", title=f"memory, {unit}", scale=alt.Scale(nice=False, zero=False, padding=12), axis=alt.Axis(grid=False)),
        y=alt.Y(
            "miss_ratio:Q",
            title="miss ratio, log scale" if log else "miss ratio",
            scale=alt.Scale(type="log" if log else "linear", nice=not log),
            axis=alt.Axis(format="~p", tickCount=5, values=steps),
        ),
        color=alt.Color(
            "line:N",
            title=None,
            sort=shown,
            scale=alt.Scale(domain=shown, range=[colors[name] for name in shown]),
            legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=3, columns=columns, labelLimit=200),
        ),
        detail="design:N",
    )
    dash = alt.condition("isValid(datum.faults)", alt.value([1, 0]), alt.value([5, 4]))
    lines = base.mark_line(strokeWidth=2, aria=False).encode(strokeDash=dash)
    dots = (
        base.transform_filter("isValid(datum.faults)")
        .mark_point(filled=True, size=36, opacity=1)
        .encode(opacity=alt.condition("datum.filter_limited", alt.value(0.3), alt.value(1)), description="label:N")
    )
    return alt.layer(lines, dots).properties(width=width, height=height)
