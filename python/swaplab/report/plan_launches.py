"""The section of a plan for a launch sequence: the answer, price against launch time, and how many live apps the user needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import altair as alt
import polars as pl

from swaplab.plan_launches import answer
from swaplab.report import launches
from swaplab.report.figure import Figure
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import LINES, colour

COLUMNS = {
    "price_mib": "price, MiB of DRAM",
    "dram_bytes": "DRAM on top, MiB",
    "nvm_bytes": "NVM, MiB",
    "flash_bytes": "flash, MiB",
    "time_ms": "launch mean, ms",
    "p95_ms": "95 %, ms",
    "cold_starts": "cold starts",
    "kills": "kills",
    "energy_j": "energy, J",
    "nvm_write_bytes_a_day": "to NVM a day, MiB",
    "flash_write_bytes_a_day": "to flash a day, MiB",
}


def matches(document: dict[str, Any]) -> bool:
    return isinstance(document.get("plan"), dict) and isinstance(document.get("schemes"), list)


def section(document: dict[str, Any], key: str) -> Section:
    """Everything the page says of one `swaplab plan` of launches."""
    found = document["plan"]
    base = launches.section(document, key)
    target = found["target"]
    asked = f"{target['seconds']:g} s" if target["seconds"] is not None else f"{target['percent']:g} % above the least found"
    prices = ", ".join(f"{name} {price:g}" for name, price in found["prices"].items())
    sizes = pl.DataFrame(found["sizes"], infer_schema_length=None)
    lines = [
        f"Asked for: a mean launch of at most {asked}.",
        f"Prices of a byte relative to DRAM's, assumed: {prices}. zram's pool takes frames, NVM and flash are paid as set aside.",
        "Every choice has the same page frames; app sizes and times are the simulated phone's, assumed.",
    ]
    return replace(
        base,
        title="Plan for a launch sequence",
        verdict=answer(document),
        evidence=[*lines, base.verdict],
        figures=[_trade(sizes, key), _curve(document["mrc"]["points"], key), *base.figures],
        tables=[_table("Choices that no other beats in price and launch time", found["front"]), _table("Every size", found["sizes"], True)],
    )


def _trade(sizes: pl.DataFrame, key: str) -> Figure:
    drawn = sizes.with_columns(
        label=pl.format("{}: {} ms at a price of {} MiB", "name", pl.col("time_ms").round(1), pl.col("price_mib").round(1))
    )
    order = drawn["scheme"].unique(maintain_order=True).to_list()
    tone = alt.Scale(domain=order, range=[colour(LINES[at % len(LINES)]) for at in range(len(order))])
    base = alt.Chart(drawn).encode(
        x=alt.X("price_mib:Q", title="price, in MiB of DRAM", axis=alt.Axis(grid=False, tickCount=6)),
        y=alt.Y("time_ms:Q", title="mean launch, ms", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        color=alt.Color("scheme:N", title=None, sort=order, scale=tone),
        shape=alt.Shape("scheme:N", title=None, sort=order, scale=alt.Scale(domain=order)),
    )
    chart = alt.layer(
        base.mark_line(strokeWidth=2, aria=False, opacity=0.7),
        base.mark_point(filled=True, size=60, opacity=1).encode(description="label:N"),
    )
    return Figure(
        key=f"{key}-price",
        title="Launch time against the price of swap",
        reading="Lower is faster, further left is cheaper; along a line one swap grows.",
        data=sizes,
        wide=chart.properties(width=990, height=320),
        narrow=chart.properties(width=270, height=260),
    )


def _curve(points: list[dict[str, Any]], key: str) -> Figure:
    data = pl.DataFrame(points, schema={"live_apps": pl.Int64, "miss_ratio": pl.Float64})
    drawn = data.with_columns(label=pl.format("{} apps alive: {} of launches are cold", "live_apps", pl.col("miss_ratio").round(3)))
    base = alt.Chart(drawn).encode(
        x=alt.X("live_apps:Q", title="apps that stay alive", axis=alt.Axis(grid=False, tickCount=6)),
        y=alt.Y("miss_ratio:Q", title="share of cold starts", axis=alt.Axis(format="~p", tickCount=5)),
    )
    line = base.mark_line(interpolate="step-after", color=colour("line-2"), strokeWidth=2, aria=False)
    dots = base.mark_point(filled=True, size=24, color=colour("line-2"), opacity=1).encode(description="label:N")
    chart = alt.layer(line, dots)
    return Figure(
        key=f"{key}-live-apps",
        title="Cold starts by the apps that stay alive",
        reading="The miss-ratio curve of launches, by least recent use: where it is flat, keeping another app alive gains nothing.",
        data=data,
        wide=chart.properties(width=990, height=260),
        narrow=chart.properties(width=290, height=240),
    )


def _table(caption: str, rows: list[dict[str, Any]], folded: bool = False) -> Table:
    cells = [[Cell(row["name"]), *(Cell(_text(name, row[name])) for name in COLUMNS)] for row in rows]
    return Table(caption, ["swap", *COLUMNS.values()], cells, folded)


def _text(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value / 2**20:.1f}" if "bytes" in name else f"{value:.1f}"
