"""The section of a replay: which policy costs least I/O on this storage, the paper's Fig. 4 bars, miss ratios, tables, provenance."""

from __future__ import annotations

from typing import Any

import polars as pl

from swaplab.report import replay_figures
from swaplab.report.page import Cell, Section, Table
from swaplab.report.relative import COUNTS, TIMES, Standing, baseline_of, is_bound, points_frame, relative, standings

#: A tone of 1 (full shade in the table) is this far from the baseline.
FULL_TONE = 0.3


def matches(document: dict[str, Any]) -> bool:
    points = document.get("points")
    return isinstance(points, list) and bool(points) and "policy" in points[0] and "io_time_ns" in points[0]


def section(document: dict[str, Any], key: str, baseline: str | None = None) -> Section:
    """Everything the page says of one replay document."""
    frame = points_frame(document, place=key)
    base = baseline_of(frame, baseline)
    rows = relative(frame, base)
    standing = standings(rows)
    trace = document.get("trace", {})
    order = [one.policy for one in standing] + [
        p for p in frame["policy"].unique(maintain_order=True) if p not in {s.policy for s in standing}
    ]
    page_size = int(trace.get("page_size") or 4096)
    figures = [
        replay_figures.io_time(rows, key, base, order, page_size),
        replay_figures.miss_ratio(rows, key, base, order, trace.get("footprint_pages"), document.get("mrc")),
    ]
    return Section(
        key=key,
        title=f"Replay of {trace_name(trace)}",
        kind=str(document.get("kind", "simulated")),
        verdict=verdict(standing, base, bool(frame["filter_limited"].any())),
        evidence=evidence(rows, standing, base, document),
        figures=[figure for figure in figures if figure is not None],
        tables=[ratio_table(rows, order, base, standing), all_points(frame)],
        provenance=provenance(document),
    )


def trace_name(trace: dict[str, Any]) -> str:
    return str(trace.get("name") or str(trace.get("path") or "a trace").rsplit("/", 1)[-1])


def percent(ratio: float) -> str:
    """0.877 -> '12.3 % less'; 1.02 -> '2.0 % more'."""
    change = 100 * (ratio - 1)
    return f"{abs(change):.1f} % {'less' if change < 0 else 'more'}"


def verdict(standing: list[Standing], baseline: str, limited: bool) -> str:
    real = [one for one in standing if not is_bound(one.policy)]
    if not real:
        why = "every memory size is below the trace's filter limit" if limited else f"{baseline} did no I/O at any of these sizes"
        return f"No verdict: {why}."
    if len(real) == 1:
        return f"Only {real[0].policy} was replayed: name a second policy to compare it with."
    best, second = real[0], real[1]
    if best.policy == baseline:
        return f"{baseline} costs the least I/O on this storage; the nearest, {second.policy}, spends {percent(second.mean)} I/O time."
    return f"{best.policy} costs the least I/O on this storage: {percent(best.mean)} I/O time than {baseline}."


def evidence(rows: pl.DataFrame, standing: list[Standing], baseline: str, document: dict[str, Any]) -> list[str]:
    valid = rows.filter(~pl.col("filter_limited"))
    sizes = valid.select("memory_pages", "memory").unique(maintain_order=True)
    real = [one for one in standing if not is_bound(one.policy)]
    lines = []
    if real and sizes.height:
        best = real[0]
        span = sizes["memory"][0] if sizes.height == 1 else f"{sizes.height} memory sizes, {sizes['memory'][0]} to {sizes['memory'][-1]}"
        lines.append(
            f"Geometric mean over {span}: {best.policy} lies between {best.low:.3f} and {best.high:.3f} of {baseline} "
            f"and is the cheapest at {best.wins} of {sizes.height}."
        )
    bounds = [f"{one.policy} {one.mean:.3f}" for one in standing if is_bound(one.policy)]
    if bounds:
        lines.append(f"Knowing the future would give {', '.join(bounds)} of {baseline}: a bound, not a choice.")
    lines.append(
        "Every policy at one size has the same number of page frames; a policy's own bookkeeping is not counted. "
        "I/O time is swap reads, swap writes, file reads and file writes, each at the device's cost."
    )
    left_out = rows.filter(pl.col("filter_limited"))["memory"].unique(maintain_order=True).to_list()
    if left_out:
        lines.append(
            f"Greyed and left out of the verdict: {', '.join(left_out)}, below 8 x the trace's filter, where its references are incomplete."
        )
    return lines


def ratio_table(rows: pl.DataFrame, order: list[str], baseline: str, standing: list[Standing]) -> Table:
    sizes = rows.select("memory_pages", "memory", "filter_limited").unique(maintain_order=True, subset="memory_pages")
    ratios = {(policy, pages): ratio for policy, pages, ratio in rows.select("policy", "memory_pages", "ratio").iter_rows()}
    means = {one.policy: one.mean for one in standing}
    table = []
    for policy in order:
        cells = [Cell(policy + (" (bound)" if is_bound(policy) else " (baseline)" if policy == baseline else ""))]
        for pages, _, limited in sizes.iter_rows():
            cells.append(_ratio_cell(ratios.get((policy, pages)), limited))
        table.append([*cells, _ratio_cell(means.get(policy), False)])
    columns = ["policy", *(f"{memory} ({pages:,} pages)" for pages, memory, _ in sizes.iter_rows()), "mean"]
    return Table(f"I/O time relative to {baseline}, file writes included (below 1: cheaper)", columns, table)


def _ratio_cell(ratio: float | None, limited: bool) -> Cell:
    if ratio is None:
        return Cell("-", faded=True)
    return Cell(f"{ratio:.3f}", tone=(ratio - 1) / FULL_TONE, faded=limited)


def all_points(frame: pl.DataFrame) -> Table:
    counts = [*COUNTS, *(time.removesuffix("_ns") + ", ms" for time in TIMES)]
    rows = []
    for row in frame.iter_rows(named=True):
        cells = [Cell(row["policy"]), Cell(row["memory"]), Cell(f"{row['memory_pages']:,}")]
        cells += [Cell(f"{row[name]:,}") for name in COUNTS] + [Cell(f"{row[name] / 1e6:,.1f}") for name in TIMES]
        rows.append([cells[0], *(Cell(cell.text, faded=row["filter_limited"]) for cell in cells[1:])])
    return Table(
        "Every point, with its counts and times",
        ["policy", "memory", "pages", *(name.replace("_", " ") for name in counts)],
        rows,
        folded=True,
    )


def provenance(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What the page rests on, from the document alone."""
    trace = document.get("trace", {})
    found = [("trace", trace_name(trace))]
    labels = {
        "content_hash": "content hash",
        "references": "references",
        "raw_references": "raw references",
        "footprint_pages": "footprint, pages",
        "page_size": "page size, bytes",
        "filter": "filter",
        "provenance": "origin",
    }
    for key, label in labels.items():
        if trace.get(key) is not None:
            found.append((label, _said(trace[key])))
    for role, device in document.get("devices", {}).items():
        costs = (
            f"read {device.get('read_ns'):,} ns, write {device.get('write_ns'):,} ns a page" if device.get("read_ns") is not None else ""
        )
        found.append((f"{role} device", "; ".join(str(part) for part in (device.get("name"), costs, device.get("source")) if part)))
    for key in ("first_touch", "mapping", "seed"):
        if document.get(key) is not None:
            found.append((key.replace("_", " "), str(document[key])))
    return found


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_said(one)}" for name, one in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
