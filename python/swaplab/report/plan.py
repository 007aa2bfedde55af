"""The report section of a plan: the answer, the Pareto-optimal choices, and the curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import altair as alt
import polars as pl

from swaplab.analysis.outcomes import MIB
from swaplab.analysis.plan import Choice, Plan, answer, name_of
from swaplab.analysis.results import Curve, CurvePoint
from swaplab.analysis.verdict import number, plural
from swaplab.core.model import Input
from swaplab.report import curve
from swaplab.report.figure import Figure
from swaplab.report.launches import text_of_number
from swaplab.report.origin import origin
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import LINES, color


def section(planned: Plan, key: str) -> Section:
    """Build the section about a plan."""
    target = planned.target
    target_text = f"{target.seconds:g} s" if target.seconds is not None else f"{number(target.percent or 0)} % above the least found"
    prices = ", ".join(f"{name} {price:g}" for name, price in planned.prices.items())
    evidence = [
        f"Target: a {planned.what} of at most {target_text}.",
        f"Prices of a byte relative to DRAM's, assumed: {prices}. zRAM's pool counts as DRAM; NVM and flash count as reserved.",
    ]
    if planned.left_out:
        evidence.append(f"Left out: {plural(planned.left_out, 'choice')} below what the trace's filter allows.")
    figures, tables = [_trade(planned, key)], [_table("Pareto-optimal choices by price and time", planned.front, planned)]
    if planned.sizes:
        points = [
            CurvePoint(memory_pages=point.frames, miss_ratio=point.miss_ratio, filter_limited=point.filter_limited)
            for point in planned.sizes
        ]
        lru = curve.section(Curve(trace=Input(name=planned.workload), points=points), f"{key}-curve")
        evidence.append(lru.verdict)
        figures += lru.figures
    if planned.live_apps:
        evidence.append(
            "Every choice has the same page frames; app sizes and times are the simulated phone's, assumed unless they were fitted."
        )
        figures.append(_live_apps(planned, key))
    return Section(
        key=key,
        title=f"Plan for {planned.workload.rsplit('/', 1)[-1]}",
        kinds=[planned.kind],
        verdict=answer(planned),
        evidence=evidence,
        figures=figures,
        tables=[*tables, replace(_table("Every choice", planned.choices, planned), folded=True)],
        provenance=origin(planned.run, planned.run.rows),
        warnings=list(planned.warnings),
    )


def _trade(planned: Plan, key: str) -> Figure:
    lines = [(name_of(choice), choice.scheme, choice.price_mib, choice.time) for choice in planned.choices if choice.is_candidate]
    data = pl.DataFrame(lines, schema={"choice": pl.String, "scheme": pl.String, "price_mib": pl.Float64, "time": pl.Float64}, orient="row")
    drawn = data.with_columns(
        label=pl.format(
            "{}: {} {} at a price of {} MiB", "choice", pl.col("time").round(4), pl.lit(planned.unit), pl.col("price_mib").round(1)
        )
    )
    order = drawn["scheme"].unique(maintain_order=True).to_list()
    tone = alt.Scale(domain=order, range=[color(LINES[at % len(LINES)]) for at in range(len(order))])
    x = alt.X("price_mib:Q", title="price, in MiB of DRAM", axis=alt.Axis(grid=False, tickCount=6), scale=alt.Scale(zero=False))
    base = alt.Chart(drawn).encode(
        x=x,
        y=alt.Y("time:Q", title=f"{planned.what}, {planned.unit}", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        color=alt.Color("scheme:N", title=None, sort=order, scale=tone),
        shape=alt.Shape("scheme:N", title=None, sort=order, scale=alt.Scale(domain=order)),
    )
    chart = alt.layer(
        base.mark_line(strokeWidth=2, aria=False, opacity=0.7),
        base.mark_point(filled=True, size=60, opacity=1).encode(description="label:N"),
    )
    return Figure(
        key=f"{key}-price",
        title=f"{planned.what[0].upper()}{planned.what[1:]} against price",
        reading="Lower is faster, further left is cheaper; along a line, memory or one swap area grows.",
        data=data,
        wide=chart.properties(width=940, height=320),
        narrow=chart.properties(width=250, height=260),
    )


def _live_apps(planned: Plan, key: str) -> Figure:
    lines = [(count.apps, count.miss_ratio) for count in planned.live_apps]
    data = pl.DataFrame(lines, schema={"live_apps": pl.Int64, "miss_ratio": pl.Float64}, orient="row")
    drawn = data.with_columns(label=pl.format("{} apps alive: {} of launches are cold", "live_apps", pl.col("miss_ratio").round(3)))
    base = alt.Chart(drawn).encode(
        x=alt.X("live_apps:Q", title="apps that stay alive", axis=alt.Axis(grid=False, tickCount=6)),
        y=alt.Y("miss_ratio:Q", title="share of cold starts", axis=alt.Axis(format="~p", tickCount=5)),
    )
    line = base.mark_line(interpolate="step-after", color=color("line-2"), strokeWidth=2, aria=False)
    dots = base.mark_point(filled=True, size=24, color=color("line-2"), opacity=1).encode(description="label:N")
    chart = alt.layer(line, dots)
    return Figure(
        key=f"{key}-live-apps",
        title="Cold starts by the apps that stay alive",
        reading="The miss-ratio curve of launches, by least recent use: where it is flat, keeping another app alive gains nothing.",
        data=data,
        wide=chart.properties(width=940, height=260),
        narrow=chart.properties(width=270, height=240),
    )


def _table(caption: str, rows: Sequence[Choice], planned: Plan) -> Table:
    columns = ["choice", "price, MiB of DRAM", "DRAM in all, MiB", "NVM, MiB", "flash, MiB", f"{planned.what}, {planned.unit}"]
    columns += ["95 % of launches, ms", "cold starts", "kills", "energy, J", "to NVM a day, MiB", "to flash a day, MiB"]
    cells = []
    for choice in rows:
        values = (
            choice.price_mib,
            choice.dram_bytes / MIB,
            choice.nvm_bytes / MIB,
            choice.flash_bytes / MIB,
            choice.time,
            choice.p95,
            choice.cold,
            choice.kills,
        )
        days = [None if size is None else size / MIB for size in (choice.nvm_write_bytes_a_day, choice.flash_write_bytes_a_day)]
        texts = [text_of_number(value) for value in (*values, choice.energy_j, *days)]
        cells.append([Cell(name_of(choice)), *(Cell(text, faded=not choice.is_candidate) for text in texts)])
    known = [at for at in range(len(columns)) if at == 0 or any(line[at].text != "-" for line in cells)]
    return Table(caption, [columns[at] for at in known], [[line[at] for at in known] for line in cells])
