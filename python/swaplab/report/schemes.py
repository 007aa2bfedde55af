"""The section of a replay with swap schemes: what each costs in time, copies, energy and memory, also at equal total memory."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from swaplab.report.figure import Figure
from swaplab.report.page import Cell, Section, Table
from swaplab.report.relative import points_frame
from swaplab.report.replay import percent, provenance, trace_name
from swaplab.report.theme import LINES, colour

MIB = 1 / (1 << 20)


def matches(document: dict[str, Any]) -> bool:
    points = document.get("points")
    return isinstance(points, list) and bool(points) and isinstance(points[0].get("scheme"), dict)


def section(document: dict[str, Any], key: str) -> Section:
    """Everything the page says of one replay document with schemes."""
    frame = points_frame(document, place=key)
    valid = frame.filter(~pl.col("filter_limited"))
    order = frame["scheme"].unique(maintain_order=True).to_list()
    counted = valid if valid.height else frame
    return Section(
        key=key,
        title=f"Swap schemes under {trace_name(document.get('trace', {}))}",
        kind=str(document.get("kind", "simulated")),
        verdict=_verdict(valid),
        evidence=_evidence(frame, valid),
        figures=[_time(counted, key, order), _moves(counted, key, order)],
        tables=[_table(frame)],
        provenance=[*(pair for pair in provenance(document) if not pair[0].endswith(" device")), *_media(document)],
    )


def _means(valid: pl.DataFrame) -> list[tuple[str, float]]:
    """Schemes by the geometric mean of their time over all policies and sizes; only schemes that have every one of them."""
    groups = (
        valid.filter(pl.col("stall_ns") > 0).group_by("scheme", maintain_order=True).agg(mean=pl.col("stall_ns").log().mean(), n=pl.len())
    )
    most = max(groups["n"].to_list(), default=0)
    found = [(str(name), math.exp(mean)) for name, mean, n in groups.iter_rows() if n == most]
    return sorted(found, key=lambda one: (one[1], one[0]))


def _verdict(valid: pl.DataFrame) -> str:
    means = _means(valid)
    if not means:
        return "No verdict: every memory size is below the trace's filter limit, or nothing was swapped."
    if len(means) == 1:
        return f"Only {means[0][0]} swapped at every size: name a second scheme to compare it with."
    (best, time), (second, other) = means[:2]
    dram = {name: sum(valid.filter(scheme=name)["dram_total_bytes"].to_list()) for name in (best, second)}
    beside = dram[best] / dram[second]
    memory = "the same DRAM" if abs(beside - 1) < 0.005 else f"{percent(beside)} DRAM in all"
    return f"{best} stalls the least at equal frames: {percent(time / other)} time than the next, {second}, with {memory}."


def _evidence(frame: pl.DataFrame, valid: pl.DataFrame) -> list[str]:
    lines = [
        "Time is that of swap and file operations on their devices plus the processor's (requests, copies, compression), one after "
        "the other; geometric mean over policies and sizes."
    ]
    beside = valid.group_by("scheme", maintain_order=True).agg(
        ((pl.col("dram_total_bytes") - pl.col("frames_bytes")) * MIB).max().alias("more")
    )
    used = ", ".join(f"{name} {more:.2f} MiB" for name, more in beside.iter_rows() if more > 0)
    lines.append(f"Equal frames are not equal memory. DRAM beside the frames, for pools and metadata, at most: {used or 'none'}.")
    lines.append(
        "The first figure puts all DRAM a scheme uses on its axis: read upwards from one amount for the comparison at equal memory."
    )
    if limited := frame.filter(pl.col("filter_limited"))["memory"].unique(maintain_order=True).to_list():
        lines.append(f"Left out of verdict and figures: {', '.join(limited)}, below 8 x the trace's filter.")
    return lines


def _time(counted: pl.DataFrame, key: str, order: list[str]) -> Figure:
    data = counted.select("policy", "scheme", "memory", "dram_total_bytes", "io_time_ns", "cpu_ns", "stall_ns")
    drawn = data.with_columns(x=pl.col("dram_total_bytes") * MIB, y=pl.col("stall_ns") * 1e-9).with_columns(
        label=pl.format(
            "{}, {}: {} s with {} MiB of DRAM in all",
            "scheme",
            "policy",
            pl.col("y").round(4).cast(pl.String),
            pl.col("x").round(2).cast(pl.String),
        )
    )
    tone = alt.Scale(domain=order, range=[colour(LINES[at % len(LINES)]) for at in range(len(order))])
    base = alt.Chart(drawn).encode(
        x=alt.X(
            "x:Q", title="DRAM in all (frames, pool, metadata), MiB", scale=alt.Scale(zero=False), axis=alt.Axis(grid=False, tickCount=6)
        ),
        y=alt.Y("y:Q", title="time, s", axis=alt.Axis(tickCount=5)),
        color=alt.Color("scheme:N", title=None, sort=order, scale=tone),
        detail="policy:N",
        # Five colours; shapes tell more schemes apart, and print in grey.
        shape=alt.Shape("scheme:N", title=None, sort=order, scale=alt.Scale(domain=order)),
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(description="label:N")
    lines = base.mark_line(strokeWidth=2, aria=False, opacity=0.7)
    chart = alt.layer(lines, dots)
    return Figure(
        key=f"{key}-time",
        title="Time against all the DRAM a scheme uses",
        reading="Lower is faster, further left is less memory. A line below another at the same place is faster at equal total memory.",
        data=data,
        wide=chart.properties(width=990, height=340),
        narrow=chart.properties(width=270, height=280),
    )


def _moves(counted: pl.DataFrame, key: str, order: list[str]) -> Figure:
    kinds = {"copied_pages": "copied in", "direct_reads": "read in place", "swap_outs": "swapped out"}
    data = counted.group_by("scheme", maintain_order=True).agg(pl.col(name).sum() for name in kinds)
    long = data.unpivot(on=list(kinds), index="scheme", variable_name="kind", value_name="pages").with_columns(
        pl.col("kind").replace_strict(kinds), label=pl.format("{}: {} pages {}", "scheme", "pages", pl.col("kind").replace_strict(kinds))
    )
    tones = alt.Scale(domain=list(kinds.values()), range=[colour("swap-read"), colour("better"), colour("swap-write")])
    bars = (
        alt.Chart(long)
        .mark_bar()
        .encode(
            x=alt.X("pages:Q", title="pages, all sizes and policies", axis=alt.Axis(format="~s", tickCount=5)),
            y=alt.Y("scheme:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelColor=colour("ink"))),
            yOffset=alt.YOffset("kind:N", sort=list(kinds.values())),
            color=alt.Color("kind:N", title=None, sort=list(kinds.values()), scale=tones),
            description="label:N",
        )
    )
    return Figure(
        key=f"{key}-moves",
        title="Pages moved",
        reading="A page that is read in place (Direct Read) was mapped where it lies in NVM: no copy was made for it.",
        data=data,
        wide=bars.properties(width=880, height=alt.Step(11)),
        narrow=bars.properties(width=200, height=alt.Step(11)),
    )


def _table(frame: pl.DataFrame) -> Table:
    columns = [
        "scheme",
        "policy",
        "memory",
        "time, s",
        "of it processor, s",
        "energy, J",
        "copied",
        "read in place",
        "out, MiB",
        "DRAM in all, MiB",
        "on NVM, MiB",
    ]
    rows = []
    for row in frame.iter_rows(named=True):
        joules = "-" if row["energy_j"] is None else f"{row['energy_j']:.4f}"
        texts = [row["policy"], row["memory"], f"{row['stall_ns'] / 1e9:.3f}", f"{row['cpu_ns'] / 1e9:.3f}", joules]
        texts += [f"{row['copied_pages']:,}", f"{row['direct_reads']:,}"]
        texts += [f"{row[name] * MIB:.1f}" for name in ("swap_out_bytes", "dram_total_bytes", "nvm_peak_bytes")]
        rows.append([Cell(row["scheme"]), *(Cell(text, faded=row["filter_limited"]) for text in texts)])
    return Table("Every point, with the memory it used", columns, rows)


def _media(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Which device stood for each medium, and the processor."""
    found: dict[str, str] = {}
    for point in document["points"]:
        costs = point["scheme"]["costs"]
        found |= {f"{name} medium": medium["device"] for name, medium in costs["media"].items()}
        found["processor"] = str(costs.get("processor", ""))
    return list(found.items())
