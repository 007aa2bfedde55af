"""The two figures of a replay: I/O time by part relative to the baseline (the paper's Fig. 4), and miss ratio by memory."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from swaplab.report.figure import Figure
from swaplab.report.relative import PARTS, is_bound
from swaplab.report.theme import LINES, colour

NAMES = {"swap_read": "swap read", "swap_write": "swap write", "file_read": "file read"}


def size_text(pages: int, page_size: int) -> str:
    size = float(pages * page_size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.3g} {unit}" if size < 100 else f"{size:.0f} {unit}"
        size /= 1024
    raise AssertionError("the loop returns at its last unit")


def io_time(rows: pl.DataFrame, key: str, baseline: str, order: list[str], page_size: int) -> Figure | None:
    """Stacked bars, a panel a memory size; None where the baseline never touched storage."""
    rows = rows.filter(pl.col("fig4_ratio").is_not_null())
    if rows.is_empty():
        return None
    data = rows.select(
        "memory", "memory_pages", "policy", "filter_limited", *(f"fig4_{p}" for p in PARTS), "fig4_ratio", *(f"{p}_ns" for p in PARTS)
    )
    long = (
        data.unpivot(
            on=[f"fig4_{p}" for p in PARTS],
            index=["memory", "memory_pages", "policy", "filter_limited", "fig4_ratio"],
            variable_name="part",
            value_name="relative",
        )
        .with_columns(pl.col("part").str.strip_prefix("fig4_").replace_strict(NAMES))
        .with_columns(rank=pl.col("part").replace_strict({name: at for at, name in enumerate(NAMES.values())}))
        .with_columns(
            panel=pl.struct("memory", "memory_pages", "filter_limited").map_elements(
                lambda s: _panel(s, page_size), return_dtype=pl.String
            ),
            label=pl.format(
                "{} at {}: {} {} of {} in all",
                "policy",
                "memory",
                "part",
                pl.col("relative").round(3).cast(pl.String),
                pl.col("fig4_ratio").round(3).cast(pl.String),
            ),
        )
    )
    panels = long["panel"].unique(maintain_order=True).to_list()
    end = max(1.0, float(long["fig4_ratio"].max())) * 1.02  # type: ignore[arg-type]
    cheaper = data.filter(~pl.col("filter_limited") & (pl.col("fig4_ratio") < 1) & (pl.col("policy") != baseline)).height
    others = data.filter(~pl.col("filter_limited") & (pl.col("policy") != baseline)).height
    share = data.filter(pl.col("policy") == baseline, ~pl.col("filter_limited"))["fig4_swap_write"].mean()
    reading = f"Shorter bars are cheaper; the line is {baseline} = 1. {cheaper} of {others} points lie below it" + (
        f"; swap writes make up {100 * float(share):.0f} % of {baseline}'s bars. " if share is not None else ". "  # type: ignore[arg-type]
    )
    return Figure(
        key=f"{key}-io-time",
        title=f"I/O time relative to {baseline}",
        reading=reading + "File writes are left out here, as in the paper's Fig. 4.",
        data=data,
        wide=_bars(long, order, panels, end, panel_width=960 // min(len(panels), 5) - 18, columns=min(len(panels), 5)),
        narrow=_bars(long, order, panels, end, panel_width=250, columns=1),
    )


def _panel(size: dict[str, Any], page_size: int) -> str:
    text = f"{size['memory']}  ·  {size_text(size['memory_pages'], page_size)}"
    return text + "  (below filter limit)" if size["filter_limited"] else text


def _bars(long: pl.DataFrame, order: list[str], panels: list[str], end: float, panel_width: int, columns: int) -> alt.TopLevelMixin:
    fade = alt.condition("datum.filter_limited", alt.value(0.28), alt.value(1))
    base = alt.Chart(long).encode(
        y=alt.Y("policy:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelColor=colour("ink"), labelPadding=6))
    )
    bars = base.mark_bar(height=13).encode(
        x=alt.X(
            "relative:Q", title=None, scale=alt.Scale(domain=[0, end], nice=False), axis=alt.Axis(tickCount=4, format=".1f", grid=False)
        ),
        color=alt.Color(
            "part:N",
            title=None,
            sort=list(NAMES.values()),
            scale=alt.Scale(domain=list(NAMES.values()), range=[colour(part.replace("_", "-")) for part in PARTS]),
        ),
        order=alt.Order("rank:Q"),
        opacity=fade,
        description="label:N",
    )
    one = alt.Chart(long).mark_rule(strokeWidth=1, color=colour("ink"), strokeDash=[3, 2], aria=False).encode(x=alt.datum(1))
    return (
        alt.layer(bars, one)
        .properties(width=panel_width, height=alt.Step(20))
        .facet(
            facet=alt.Facet("panel:N", sort=panels, title=None, header=alt.Header(labelAnchor="start", labelPadding=4)),
            columns=columns,
            spacing=18,
        )
    )


def miss_ratio(
    rows: pl.DataFrame, key: str, baseline: str, order: list[str], footprint: int | None, mrc: dict[str, Any] | None
) -> Figure | None:
    """A line a policy over memory; the baseline, the best three and the bound are named, the rest stay grey."""
    sizes = rows["memory_pages"].n_unique()
    if sizes < 2 and not mrc:
        return None
    scale = 100.0 / footprint if footprint else 1.0
    unit = "% of the footprint" if footprint else "pages"
    data = rows.select(
        "policy", "memory_pages", "filter_limited", "faults", "references", miss_ratio=pl.col("faults") / pl.col("references")
    )
    curve = [(point["memory_pages"], point["miss_ratio"]) for point in (mrc or {}).get("points", [])]
    curve_name = f"{(mrc or {}).get('policy', 'lru')}, every size"
    if curve:
        extra = pl.DataFrame(
            {"policy": [curve_name] * len(curve), "memory_pages": [m for m, _ in curve], "miss_ratio": [r for _, r in curve]}
        )
        data = pl.concat([data, extra.with_columns(filter_limited=pl.lit(False))], how="diagonal_relaxed")
    named = [baseline, *(p for p in order if p != baseline and not is_bound(p))][:4] + [p for p in order if is_bound(p)][:1]
    drawn = data.with_columns(
        memory=pl.col("memory_pages") * scale,
        line=pl.when(pl.col("policy").is_in(named) | (pl.col("policy") == curve_name)).then("policy").otherwise(pl.lit("other policies")),
        label=pl.format("{} at {} pages: miss ratio {}", "policy", "memory_pages", pl.col("miss_ratio").round(5).cast(pl.String)),
    )
    colours = dict(zip(named, [colour("ink"), *(colour(one) for one in LINES)], strict=False)) | {
        "other policies": colour("other"),
        curve_name: colour("soft"),
    }
    shown = [name for name in (*named, "other policies", curve_name) if name in set(drawn["line"])]
    low = data.filter(~pl.col("filter_limited")).sort("miss_ratio", "policy")
    best = next((row for row in low.iter_rows(named=True) if not is_bound(row["policy"])), None)
    reading = "Lower is better: the share of references that fault."
    if best:
        reading += f" The lowest is {100 * best['miss_ratio']:.3g} %, {best['policy']} at {best['memory_pages']:,} pages."
    reading += " Fewer faults need not be less I/O time: a fault that writes a dirty page costs more."
    return Figure(
        key=f"{key}-miss-ratio",
        title="Miss ratio by memory",
        reading=reading,
        data=data,
        wide=_lines(drawn, shown, colours, unit, width=990, height=320, columns=0),
        narrow=_lines(drawn, shown, colours, unit, width=290, height=260, columns=2),
    )


def _lines(
    drawn: pl.DataFrame, shown: list[str], colours: dict[str, str], unit: str, width: int, height: int, columns: int
) -> alt.TopLevelMixin:
    base = alt.Chart(drawn).encode(
        x=alt.X("memory:Q", title=f"memory, {unit}", scale=alt.Scale(nice=False, zero=False, padding=12), axis=alt.Axis(grid=False)),
        y=alt.Y("miss_ratio:Q", title="miss ratio", axis=alt.Axis(format="~p", tickCount=5)),
        color=alt.Color(
            "line:N",
            title=None,
            sort=shown,
            scale=alt.Scale(domain=shown, range=[colours[name] for name in shown]),
            legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=3, columns=columns, labelLimit=200),
        ),
        detail="policy:N",
    )
    dash = alt.condition("isValid(datum.faults)", alt.value([1, 0]), alt.value([5, 4]))
    lines = base.mark_line(strokeWidth=2, aria=False).encode(strokeDash=dash)
    dots = (
        base.transform_filter("isValid(datum.faults)")
        .mark_point(filled=True, size=36, opacity=1)
        .encode(opacity=alt.condition("datum.filter_limited", alt.value(0.3), alt.value(1)), description="label:N")
    )
    return alt.layer(lines, dots).properties(width=width, height=height)
