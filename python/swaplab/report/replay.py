"""The report section of policies on a replayed trace: the policy with the least I/O time, bars by
part, miss ratios, tables, provenance.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from swaplab.analysis.registry import is_bound
from swaplab.analysis.relative import COUNTS, TIMES, Standing, baseline_of, frame_of, relative, standing_verdict, standings
from swaplab.core.model import Document, Row
from swaplab.report import replay_figures
from swaplab.report.origin import kinds_of, origin, workload_name
from swaplab.report.page import Cell, Section, Table

#: The deviation from the baseline at which a table cell has its full shade (tone 1).
FULL_TONE = 0.3


def section(document: Document, rows: Sequence[Row], key: str, baseline: str | None = None) -> Section:
    """Build the section about policies on one trace. Ratios are relative to `baseline`, by default
    CLOCK.
    """
    frame = frame_of(rows)
    base = baseline_of(frame, baseline)
    ratios = relative(frame, base)
    standing = standings(ratios)
    ranked = [place.design for place in standing]
    order = ranked + [name for name in frame["design"].unique(maintain_order=True) if name not in ranked]
    page_bytes = next((source.trace.page_bytes for source in document.inputs if source.trace is not None), 0) or 4096
    figures = [
        replay_figures.io_time(ratios, key, base, order, page_bytes),
        replay_figures.miss_ratio(ratios, key, base, order, page_bytes),
    ]
    return Section(
        key=key,
        title=f"Replay of {workload_name(rows[0])}",
        kinds=kinds_of(rows),
        verdict=standing_verdict(standing, base, bool(frame["filter_limited"].any())).text,
        evidence=evidence(ratios, standing, base),
        figures=[figure for figure in figures if figure is not None],
        tables=[ratio_table(ratios, order, base, standing), all_points(frame)],
        provenance=origin(document, rows),
        warnings=list(document.warnings),
    )


def evidence(rows: pl.DataFrame, standing: Sequence[Standing], baseline: str) -> list[str]:
    valid = rows.filter(~pl.col("filter_limited"))
    sizes = valid.select("frames", "memory").unique(maintain_order=True)
    real = [place for place in standing if not place.bound]
    lines = []
    if real and sizes.height:
        best = real[0]
        span = sizes["memory"][0] if sizes.height == 1 else f"{sizes.height} memory sizes, {sizes['memory'][0]} to {sizes['memory'][-1]}"
        lines.append(
            f"Geometric mean over {span}: {best.design} is between {best.low:.3f} and {best.high:.3f} of {baseline} "
            f"and is the cheapest at {best.wins} of {sizes.height}."
        )
        lines.append("Counts of a replay are exact for this trace; one trace says nothing about others.")
    if bounds := [f"{place.design} {place.mean:.3f}" for place in standing if place.bound]:
        lines.append(f"A policy that knew the future would reach {', '.join(bounds)} of {baseline}. No policy can know it.")
    lines.append(
        "Every policy at one size has the same number of page frames; a policy's own bookkeeping is not counted. "
        "I/O time is swap reads, swap writes, file reads and file writes, each at the device's cost."
    )
    left_out = rows.filter(pl.col("filter_limited"))["memory"].unique(maintain_order=True).to_list()
    if left_out:
        lines.append(
            f"Gray and left out of the verdict, because the trace's filter makes the references incomplete there: {', '.join(left_out)}."
        )
    return lines


def ratio_table(rows: pl.DataFrame, order: Sequence[str], baseline: str, standing: Sequence[Standing]) -> Table:
    sizes = rows.select("frames", "memory", "filter_limited").unique(maintain_order=True, subset="frames")
    ratios = {(design, frames): ratio for design, frames, ratio in rows.select("design", "frames", "ratio").iter_rows()}
    means = {place.design: place.mean for place in standing}
    policies = dict(rows.select("design", "policy").iter_rows())
    cells = []
    for design in order:
        mark = " (bound)" if is_bound(policies[design]) else " (baseline)" if design == baseline else ""
        line = [_ratio_cell(ratios.get((design, frames)), limited) for frames, _, limited in sizes.iter_rows()]
        cells.append([Cell(design + mark), *line, _ratio_cell(means.get(design), False)])
    columns = ["policy", *(f"{memory} ({frames:,} pages)" for frames, memory, _ in sizes.iter_rows()), "mean"]
    return Table(f"I/O time relative to {baseline}, file writes included (below 1: cheaper)", columns, cells)


def _ratio_cell(ratio: float | None, faded: bool) -> Cell:
    if ratio is None:
        return Cell("-", faded=True)
    return Cell(f"{ratio:.3f}", tone=(ratio - 1) / FULL_TONE, faded=faded)


def all_points(frame: pl.DataFrame) -> Table:
    rows = []
    for row in frame.iter_rows(named=True):
        texts = [row["memory"], f"{row['frames']:,}"]
        texts += ["-" if row[name] is None else f"{row[name]:,.0f}" for name in COUNTS]
        texts += ["-" if row[name] is None else f"{row[name] / 1e6:,.1f}" for name in TIMES]
        rows.append([Cell(row["design"]), *(Cell(text, faded=row["filter_limited"]) for text in texts)])
    heads = [name.replace("_", " ") for name in COUNTS] + [f"{name.removesuffix('_ns').replace('_', ' ')}, ms" for name in TIMES]
    return Table("Every point, with its counts and times", ["policy", "memory", "frames", *heads], rows, folded=True)
