"""Figures and tables for all worlds with launches: delays, classes of perceived delay, bytes moved,
energy, wear, memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from swaplab.analysis.outcomes import BY_PATH, MIB, judge
from swaplab.analysis.verdict import number
from swaplab.core.model import Spread
from swaplab.report.figure import Figure
from swaplab.report.origin import LabeledRow, memory_text
from swaplab.report.page import Cell, Table
from swaplab.report.theme import color

TIMES = {"cold_ms": "cold start", "resume_ms": "resume", "delay_ms": "all launches"}
#: Classes of user-perceived launch times, best first (Tolia et al. 2006, as A2S uses them), with
#: the roles of their colors in `theme.py`.
FEELINGS = {"crisp": "better", "noticeable": "swap-read", "annoying": "file-read", "unacceptable": "line-1", "unusable": "line-4"}
BYTES = {
    "swap_in_bytes": "swapped in",
    "swap_out_bytes": "swapped out",
    "nvm_write_bytes": "written to NVM",
    "flash_write_bytes": "written to flash",
}


def verdict_text(rows: Sequence[LabeledRow]) -> str:
    """Return the verdict on the mean launch delay."""
    return judge([entry.row for entry in rows], BY_PATH["launches.delay_ms.mean"], [entry.label for entry in rows]).text


def memory_lines(rows: Sequence[LabeledRow]) -> list[str]:
    return [f"{entry.label}: {text}." for entry in rows if (text := memory_text(entry.row.memory))]


def invalid_lines(rows: Sequence[LabeledRow]) -> list[str]:
    return [f"{entry.label} is left out of the verdict: {entry.row.invalid}." for entry in rows if entry.row.invalid is not None]


def spread_of(entry: LabeledRow, name: str) -> Spread | None:
    """Return the distribution `delay_ms`, `cold_ms` or `resume_ms` of a row; None if there is
    none.
    """
    launches = entry.row.launches
    spreads = {"delay_ms": launches.delay_ms, "cold_ms": launches.cold_ms, "resume_ms": launches.resume_ms} if launches is not None else {}
    return spreads.get(name)


def times(rows: Sequence[LabeledRow], key: str) -> Figure | None:
    rows_of_times = []
    for entry in rows:
        for name, words in TIMES.items():
            if (spread := spread_of(entry, name)) is not None:
                low, high = spread.p50_interval or (spread.p50, spread.p50)
                rows_of_times.append((entry.label, words, spread.p50, spread.p95, low, high))
    if not rows_of_times:
        return None
    data = pl.DataFrame(rows_of_times, schema=["design", "what", "p50_ms", "p95_ms", "low_ms", "high_ms"], orient="row")
    drawn = data.with_columns(label=pl.format("{}, {}: median {} ms", "design", "what", pl.col("p50_ms").round(2).cast(pl.String)))
    shown = [words for words in TIMES.values() if words in set(data["what"])]
    order = data["design"].unique(maintain_order=True).to_list()
    tones = alt.Scale(domain=shown, range=[color(f"line-{at + 1}") for at in range(len(shown))])
    base = alt.Chart(drawn).encode(
        y=alt.Y("design:N", sort=order, title=None, axis=design_axis()),
        yOffset=alt.YOffset("what:N", sort=shown),
        color=alt.Color("what:N", title=None, sort=shown, scale=tones),
    )
    x = alt.X("p50_ms:Q", title="ms", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    span = base.mark_rule(strokeWidth=5, opacity=0.35, aria=False).encode(x=alt.X("low_ms:Q", title="ms"), x2="high_ms:Q")
    late = base.mark_tick(thickness=2, size=12, aria=False).encode(x="p95_ms:Q")
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(x=x, description="label:N")
    chart = alt.layer(span, late, dots)
    return Figure(
        key=f"{key}-times",
        title="Launch and resume delays",
        reading="Dot: median; bar: its 95 % interval where the run has one; tick: 95th percentile.",
        data=data,
        wide=chart.properties(width=780, height=alt.Step(14)),
        narrow=chart.properties(width=190, height=alt.Step(14)),
    )


def design_axis(limit: int = 260) -> alt.Axis:
    """Make an axis of design names. Names longer than `limit` pixels end in an ellipsis; the table
    has the full names.
    """
    return alt.Axis(ticks=False, domain=False, labelColor=color("ink"), labelLimit=limit)


def parts_figure(
    rows: list[tuple[str, str, float]],
    key: str,
    title: str,
    reading: str,
    unit: str,
    tones: dict[str, str],
    is_stacked: bool = True,
    is_share: bool = False,
) -> Figure | None:
    """Draw bars of (design, part, value). `is_stacked`: the parts are parts of a sum. `is_share`:
    each bar is 100 %.
    """
    if not any(value for _, _, value in rows):
        return None
    data = pl.DataFrame(rows, schema={"design": pl.String, "part": pl.String, "value": pl.Float64}, orient="row")
    drawn = data.with_columns(
        label=pl.format("{}: {} {} {}", "design", pl.col("value").round(3).cast(pl.String), pl.lit(unit), "part"),
        rank=pl.col("part").replace_strict({part: at for at, part in enumerate(tones)}),
    )
    shown = [part for part in tones if part in set(data["part"])]
    scale = alt.Scale(domain=shown, range=[color(tones[part]) for part in shown])
    axis = alt.Axis(tickCount=5, format="%" if is_share else "~s")
    x = alt.X("value:Q", title=unit, stack="normalize" if is_share else "zero" if is_stacked else None, axis=axis)
    order = data["design"].unique(maintain_order=True).to_list()
    bars = (
        alt.Chart(drawn)
        .mark_bar()
        .encode(
            x=x,
            y=alt.Y("design:N", sort=order, title=None, axis=design_axis()),
            color=alt.Color("part:N", title=None, sort=shown, scale=scale, legend=alt.Legend(columns=3)),
            description="label:N",
        )
    )
    bars = bars.encode(order=alt.Order("rank:Q")) if is_stacked else bars.encode(yOffset=alt.YOffset("part:N", sort=shown))
    wide, narrow = (bars.properties(width=width, height=alt.Step(24 if is_stacked else 9)) for width in (780, 190))
    return Figure(key=key, title=title, reading=reading, data=data, wide=wide, narrow=narrow)


def feelings(rows: Sequence[LabeledRow], key: str) -> Figure | None:
    counts = []
    for entry in rows:
        if entry.row.launches is not None:
            ux = entry.row.launches.ux
            values = (ux.crisp, ux.noticeable, ux.annoying, ux.unacceptable, ux.unusable)
            counts += [(entry.label, name, value) for name, value in zip(FEELINGS, values, strict=True)]
    reading = "Launches by what a user feels (Tolia et al. 2006): up to 150 ms, 1 s, 2 s, 5 s, and longer."
    return parts_figure(counts, f"{key}-ux", "What users feel", reading, "launches", FEELINGS, is_share=True)


def bytes_moved(rows: Sequence[LabeledRow], key: str) -> Figure | None:
    moved = []
    for entry in rows:
        paging = entry.row.paging
        values = (paging.swap_in_bytes, paging.swap_out_bytes, paging.nvm_write_bytes, paging.flash_write_bytes)
        moved += [(entry.label, words, value / MIB) for words, value in zip(BYTES.values(), values, strict=True) if value is not None]
    tones = dict(zip(BYTES.values(), ("swap-read", "swap-write", "line-4", "file-read"), strict=True))
    reading = "What each design moved. What was swapped out may be written in fewer bytes, or not at all; writes wear flash and NVM."
    return parts_figure(moved, f"{key}-bytes", "Bytes moved", reading, "MiB", tones, is_stacked=False)


def energy(rows: Sequence[LabeledRow], key: str) -> Figure | None:
    parts = [
        (entry.label, name, value)
        for entry in rows
        if entry.row.energy is not None
        for name, value in entry.row.energy.parts_j.items()
        if value is not None
    ]
    cycle = ("swap-read", "swap-write", "file-read", "better", "line-4", "line-5", "other")
    tones = {part: cycle[at % len(cycle)] for at, part in enumerate(dict.fromkeys(part for _, part, _ in parts))}
    return parts_figure(parts, f"{key}-energy", "Energy", "Where each design spends its energy.", "J", tones)


def design_table(rows: Sequence[LabeledRow]) -> Table:
    """Build the table of delays, counts and traffic, a row per design."""
    columns = ["design", "launches", "cold starts", "kills", "median, ms", "95 %, ms", "resume, ms", "cold, ms", "in, MiB", "out, MiB"]
    cells = []
    for entry in rows:
        launches, paging = entry.row.launches, entry.row.paging
        counts = (launches.count, launches.cold, launches.kills) if launches is not None else (None, None, None)
        delays = [(spread_of(entry, "delay_ms"), "p50"), (spread_of(entry, "delay_ms"), "p95")]
        delays += [(spread_of(entry, "resume_ms"), "p50"), (spread_of(entry, "cold_ms"), "p50")]
        texts = [text_of_number(value) for value in counts]
        texts += ["-" if spread is None else f"{spread.p50 if leaf == 'p50' else spread.p95:,.1f}" for spread, leaf in delays]
        texts += [text_of_number(None if value is None else value / MIB) for value in (paging.swap_in_bytes, paging.swap_out_bytes)]
        cells.append([Cell(entry.label), *(Cell(text, faded=entry.row.invalid is not None) for text in texts)])
    return Table("Every design", columns, cells)


def text_of_number(value: float | None) -> str:
    return "-" if value is None else number(value)


def wear_table(rows: Sequence[LabeledRow]) -> list[Table]:
    """Build the table of wear of each written medium: cycles per day, and years until its endurance
    is used up at this launch rate.
    """
    columns = ["design", "medium", "device", "written, MiB", "cycles a day", "endurance, cycles", "years to endurance"]
    cells = []
    for entry in rows:
        for medium, use in entry.row.media.items():
            if use.wear is not None and use.write_bytes:
                wear = use.wear
                texts = [medium, use.device, number(use.write_bytes / MIB), text_of_number(wear.cycles_per_day)]
                texts += [number(wear.endurance_cycles), text_of_number(wear.years_to_endurance)]
                cells.append([Cell(entry.label), *map(Cell, texts)])
    return [Table("Wear of the media, at the launch rate of this run", columns, cells)] if cells else []
