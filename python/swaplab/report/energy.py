"""The section of `swaplab energy`: what each swap medium takes from the battery, by part (DR.Swap, equations 1 to 14)."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from swaplab.report.figure import Figure
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import colour

PARTS = {"background_j": "background", "activate_j": "activation", "read_j": "reads", "write_j": "writes", "io_j": "bus"}
COLOURS = ("other", "line-5", "swap-read", "swap-write", "file-read")


def matches(document: dict[str, Any]) -> bool:
    schemes = document.get("schemes")
    return isinstance(schemes, dict) and all("background_j" in one for one in schemes.values())


def section(document: dict[str, Any], key: str) -> Section:
    """Everything the page says of one `swaplab energy` document."""
    schemes = document["schemes"]
    least = min(schemes, key=lambda name: float(schemes[name]["total_j"]))
    savings = document.get("saving_vs_dram_percent", {})
    verdict = f"{least} takes least: {schemes[least]['total_j']:.3f} J in {document['seconds']:g} s."
    if "nvm-direct" in savings:
        verdict += f" NVM with Direct Read saves {savings['nvm-direct']:.1f} % of DRAM-backed swap's energy."
    share = 100 * schemes["dram"]["background_j"] / schemes["dram"]["total_j"]
    return Section(
        key=key,
        title=f"Energy of {document['swap']} of swap, mode {document['mode']}",
        kind=str(document.get("kind", "simulated")),
        verdict=verdict,
        evidence=[
            f"{share:.1f} % of DRAM-backed swap's energy is background power, by size and time, whatever is moved.",
            "Arithmetic from the constants of DR.Swap's Table II (docs/models/energy.md), no measurement.",
        ],
        figures=[_figure(schemes, key)],
        tables=[_table(schemes, savings)],
        provenance=[(name.replace("_", " "), f"{document[name]:,}") for name in ("seconds", "swap_ins", "direct_reads", "swap_outs")],
    )


def _figure(schemes: dict[str, Any], key: str) -> Figure:
    rows = [(name, words, float(one[part])) for name, one in schemes.items() for part, words in PARTS.items()]
    data = pl.DataFrame(rows, schema=["scheme", "part", "joules"], orient="row")
    at = pl.col("part").replace_strict({words: place for place, words in enumerate(PARTS.values())}, return_dtype=pl.Int64)
    drawn = data.with_columns(at=at, label=pl.format("{}: {} {} J", "scheme", "part", pl.col("joules").round(6).cast(pl.String)))
    names = list(PARTS.values())
    chart = (
        alt.Chart(drawn)
        .mark_bar(height=18)
        .encode(
            x=alt.X("joules:Q", title="J", axis=alt.Axis(grid=False, tickCount=5)),
            y=alt.Y("scheme:N", title=None, sort=list(schemes), axis=alt.Axis(ticks=False, domain=False, labelColor=colour("ink"))),
            color=alt.Color("part:N", title=None, sort=names, scale=alt.Scale(domain=names, range=[colour(one) for one in COLOURS])),
            order="at:Q",
            description="label:N",
        )
    )
    return Figure(
        key=f"{key}-energy",
        title="Energy by part",
        reading="Shorter bars last longer on a battery; what stands first in each bar is paid for doing nothing.",
        data=data,
        wide=chart.properties(width=900, height=alt.Step(34)),
        narrow=chart.properties(width=230, height=alt.Step(34)),
    )


def _table(schemes: dict[str, Any], savings: dict[str, float]) -> Table:
    rows = []
    for name, one in schemes.items():
        numbers = [Cell(f"{one[part]:.6f}") for part in (*PARTS, "total_j", "busy_s")]
        saved = savings.get(name)
        rows.append([Cell(name), *numbers, Cell("-" if saved is None else f"{saved:.1f} %", tone=None if saved is None else -saved / 100)])
    return Table("Joules by part", ["scheme", *PARTS.values(), "in all, J", "busy, s", "saving"], rows)
