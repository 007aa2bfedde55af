"""The report section of `swaplab papers energy`: the energy of each swap medium, by part (DR.Swap,
equations 1 to 14).
"""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import polars as pl

from swaplab.analysis.results import EnergyParts, EnergyResult
from swaplab.report.figure import Figure
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import color

PARTS = {"background_j": "background", "activate_j": "activation", "read_j": "reads", "write_j": "writes", "io_j": "bus"}
COLORS = ("other", "line-5", "swap-read", "swap-write", "file-read")


def section(result: EnergyResult, key: str) -> Section:
    """Build the section about DR.Swap's energy model."""
    schemes = result.schemes
    least = min(schemes, key=lambda name: schemes[name].total_j)
    savings = result.saving_vs_dram_percent
    text = f"{least} takes least: {schemes[least].total_j:.3f} J in {result.seconds:g} s."
    if "nvm-direct" in savings:
        text += f" NVM with Direct Read saves {savings['nvm-direct']:.1f} % of DRAM-backed swap's energy."
    evidence = ["Arithmetic from the constants of DR.Swap's Table II (Zhong et al. 2016; docs/models/energy.md), no measurement."]
    if (dram := schemes.get("dram")) is not None and dram.total_j:
        share = 100 * dram.background_j / dram.total_j
        evidence.insert(0, f"{share:.1f} % of DRAM-backed swap's energy is background power, by size and time, whatever is moved.")
    counts = (("swap-ins", result.swap_ins), ("Direct Reads", result.direct_reads), ("swap-outs", result.swap_outs))
    return Section(
        key=key,
        title=f"Energy of {result.swap} of swap, mode {result.mode}",
        kinds=[result.kind],
        verdict=text,
        evidence=evidence,
        figures=[_figure(schemes, key)],
        tables=[_table(schemes, savings)],
        provenance=[("seconds", f"{result.seconds:g}"), *((name, f"{count:,}") for name, count in counts)],
    )


def _figure(schemes: Mapping[str, EnergyParts], key: str) -> Figure:
    rows = [
        (name, words, float(getattr(parts_of_scheme, part))) for name, parts_of_scheme in schemes.items() for part, words in PARTS.items()
    ]
    data = pl.DataFrame(rows, schema=["scheme", "part", "joules"], orient="row")
    at = pl.col("part").replace_strict({words: place for place, words in enumerate(PARTS.values())}, return_dtype=pl.Int64)
    drawn = data.with_columns(at=at, label=pl.format("{}: {} {} J", "scheme", "part", pl.col("joules").round(6).cast(pl.String)))
    names = list(PARTS.values())
    chart = (
        alt.Chart(drawn)
        .mark_bar(height=18)
        .encode(
            x=alt.X("joules:Q", title="J", axis=alt.Axis(grid=False, tickCount=5)),
            y=alt.Y("scheme:N", title=None, sort=list(schemes), axis=alt.Axis(ticks=False, domain=False, labelColor=color("ink"))),
            color=alt.Color("part:N", title=None, sort=names, scale=alt.Scale(domain=names, range=[color(tone) for tone in COLORS])),
            order="at:Q",
            description="label:N",
        )
    )
    return Figure(
        key=f"{key}-energy",
        title="Energy by part",
        reading="Shorter bars use less of the battery. The first part of each bar, background power, is used even if no page is moved.",
        data=data,
        wide=chart.properties(width=900, height=alt.Step(34)),
        narrow=chart.properties(width=230, height=alt.Step(34)),
    )


def _table(schemes: Mapping[str, EnergyParts], savings: Mapping[str, float]) -> Table:
    rows = []
    for name, parts in schemes.items():
        numbers = [Cell(f"{getattr(parts, part):.6f}") for part in (*PARTS, "total_j", "busy_s")]
        saved = savings.get(name)
        rows.append([Cell(name), *numbers, Cell("-" if saved is None else f"{saved:.1f} %", tone=None if saved is None else -saved / 100)])
    return Table("Joules by part", ["scheme", *PARTS.values(), "in all, J", "busy, s", "saving"], rows)
