"""The report section of a replay with swap schemes: time, copies, energy and memory of each, also
at equal total memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from swaplab.analysis.relative import frame_of
from swaplab.analysis.verdict import Candidate, number, percent, verdict
from swaplab.core.model import Document, Row
from swaplab.core.statistics import geometric_mean
from swaplab.report.figure import Figure
from swaplab.report.launches import wear_table
from swaplab.report.origin import kinds_of, labeled, origin, workload_name
from swaplab.report.page import Cell, Section, Table
from swaplab.report.theme import LINES, color

MIB = 1 << 20


def section(document: Document, rows: Sequence[Row], key: str) -> Section:
    """Build the section about swap schemes on one trace."""
    frame = frame_of(rows).with_columns(scheme=pl.col("swap").fill_null("unlimited"))
    valid = frame.filter(~pl.col("filter_limited"))
    order = frame["scheme"].unique(maintain_order=True).to_list()
    counted = valid if valid.height else frame
    return Section(
        key=key,
        title=f"Swap schemes under {workload_name(rows[0])}",
        kinds=kinds_of(rows),
        verdict=_verdict(valid),
        evidence=_evidence(frame, valid),
        figures=[_time(counted, key, order), _moves(counted, key, order)],
        tables=[_table(frame), *wear_table(labeled(rows))],
        provenance=origin(document, rows),
        warnings=list(document.warnings),
    )


def _ranked_means(valid: pl.DataFrame) -> list[tuple[str, float]]:
    """Rank the schemes by the geometric mean of their time over all policies and sizes. Schemes
    that lack some of them are left out.
    """
    groups = valid.filter(pl.col("stall_ns") > 0).group_by("scheme", maintain_order=True).agg("stall_ns")
    most = max((len(times) for _, times in groups.iter_rows()), default=0)
    means = [(str(name), geometric_mean(times)) for name, times in groups.iter_rows() if len(times) == most]
    return sorted(means, key=lambda mean: (mean[1], mean[0]))


def _verdict(valid: pl.DataFrame) -> str:
    means = _ranked_means(valid)
    if not means:
        return "No verdict: every memory size is below the trace's filter limit, or nothing was swapped."
    decision = verdict([Candidate(name, time * 1e-9) for name, time in means], "stall time at equal frames", "s", exact=True)
    if decision.winner is None or len(means) < 2:
        return decision.text
    best, second = means[0][0], means[1][0]
    dram = {name: sum(valid.filter(scheme=name)["dram_total_bytes"].to_list()) for name in (best, second)}
    dram_ratio = dram[best] / dram[second] if dram[second] else 1.0
    memory = "the same DRAM" if abs(dram_ratio - 1) < 0.005 else f"{percent(dram_ratio)} DRAM in all"
    return f"{decision.text.removesuffix('.')}, with {memory}."


def _evidence(frame: pl.DataFrame, valid: pl.DataFrame) -> list[str]:
    lines = [
        "Time is that of swap and file operations on their devices plus the processor's (requests, copies, compression), one after "
        "the other; geometric mean over policies and sizes."
    ]
    extra_dram = valid.group_by("scheme", maintain_order=True).agg(
        ((pl.col("dram_total_bytes") - pl.col("frames_bytes")) / MIB).max().alias("more")
    )
    used = ", ".join(f"{name} {more:.2f} MiB" for name, more in extra_dram.iter_rows() if more > 0)
    lines.append(f"Equal frames are not equal memory. Maximum DRAM in addition to the frames, for pools and metadata: {used or 'none'}.")
    lines.append(
        "The first figure puts all DRAM a scheme uses on its axis: read upwards from one amount for the comparison at equal memory."
    )
    if limited := frame.filter(pl.col("filter_limited"))["memory"].unique(maintain_order=True).to_list():
        lines.append(f"Left out of verdict and figures: {', '.join(limited)}, below 8 x the trace's filter.")
    return lines


def _time(counted: pl.DataFrame, key: str, order: list[str]) -> Figure:
    data = counted.select("policy", "scheme", "memory", "dram_total_bytes", "io_ns", "cpu_ns", "stall_ns")
    drawn = data.with_columns(x=pl.col("dram_total_bytes") / MIB, y=pl.col("stall_ns") * 1e-9).with_columns(
        label=pl.format(
            "{}, {}: {} s with {} MiB of DRAM in all",
            "scheme",
            "policy",
            pl.col("y").round(4).cast(pl.String),
            pl.col("x").round(2).cast(pl.String),
        )
    )
    tone = alt.Scale(domain=order, range=[color(LINES[at % len(LINES)]) for at in range(len(order))])
    base = alt.Chart(drawn).encode(
        x=alt.X(
            "x:Q", title="DRAM in all (frames, pool, metadata), MiB", scale=alt.Scale(zero=False), axis=alt.Axis(grid=False, tickCount=6)
        ),
        y=alt.Y("y:Q", title="time, s", axis=alt.Axis(tickCount=5)),
        color=alt.Color("scheme:N", title=None, sort=order, scale=tone),
        detail="policy:N",
        # There are five colors; shapes distinguish more schemes, also in gray print.
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
    kinds = {"copied_pages": "copied in", "direct_reads": "read in place", "swap_out_pages": "swapped out"}
    # Each 4 KiB that were swapped out count as a page, independent of the size of requests.
    pages = counted.with_columns(swap_out_pages=pl.col("swap_out_bytes") / 4096)
    data = pages.group_by("scheme", maintain_order=True).agg(pl.col(name).sum() for name in kinds)
    long = data.unpivot(on=list(kinds), index="scheme", variable_name="kind", value_name="pages").with_columns(
        pl.col("kind").replace_strict(kinds),
        label=pl.format("{}: {} pages {}", "scheme", pl.col("pages").cast(pl.Int64), pl.col("kind").replace_strict(kinds)),
    )
    tones = alt.Scale(domain=list(kinds.values()), range=[color("swap-read"), color("better"), color("swap-write")])
    bars = (
        alt.Chart(long)
        .mark_bar()
        .encode(
            x=alt.X("pages:Q", title="pages, all sizes and policies", axis=alt.Axis(format="~s", tickCount=5)),
            y=alt.Y("scheme:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelColor=color("ink"))),
            yOffset=alt.YOffset("kind:N", sort=list(kinds.values())),
            color=alt.Color("kind:N", title=None, sort=list(kinds.values()), scale=tones),
            description="label:N",
        )
    )
    return Figure(
        key=f"{key}-moves",
        title="Pages moved",
        reading="A page that is read in place (Direct Read) is mapped in NVM without a copy to DRAM.",
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
        texts += ["-" if row[name] is None else f"{row[name]:,.0f}" for name in ("copied_pages", "direct_reads")]
        texts += ["-" if row[name] is None else number(row[name] / MIB) for name in ("swap_out_bytes", "dram_total_bytes", "nvm_bytes")]
        rows.append([Cell(row["scheme"]), *(Cell(text, faded=row["filter_limited"]) for text in texts)])
    return Table("Every point, with the memory it used", columns, rows)
