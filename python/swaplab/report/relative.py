"""Replay points as one polars frame, and what they say relative to a baseline policy: the numbers behind every verdict.

Ratios over several memory sizes are averaged geometrically: a policy that doubles the time at one size and halves it at another ends at 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from swaplab import BadInput
from swaplab.columns import scheme_columns

#: The parts of the paper's Fig. 4 (READING 002): file writes are left out of that view.
PARTS = ("swap_read", "swap_write", "file_read")
COUNTS = ("references", "faults", "swap_reads", "swap_writes", "file_reads", "file_writes")
TIMES = ("swap_read_ns", "swap_write_ns", "file_read_ns", "file_write_ns", "io_time_ns")


def points_frame(document: dict[str, Any], place: str = "replay document") -> pl.DataFrame:
    """The points of a replay document, one row a policy and size, ordered by memory. Times in ns, memory in pages."""
    points = document.get("points")
    if not isinstance(points, list) or not points:
        raise BadInput(f"{place}: no 'points'; expected the document of 'swaplab replay --json'")
    needed = {"policy", "memory_pages", *COUNTS, *TIMES}
    for at, point in enumerate(points):
        if missing := sorted(needed - point.keys()):
            raise BadInput(f"{place}: points[{at}] has no '{missing[0]}'; expected the keys of 'swaplab replay --json'")
    rows = [
        {key: point[key] for key in ("policy", "memory_pages", *COUNTS, *TIMES)}
        | {"memory": point.get("memory") or f"{point['memory_pages']}p", "filter_limited": bool(point.get("filter_limited", False))}
        | scheme_columns(point)
        for point in points
    ]
    return pl.DataFrame(rows).sort("memory_pages", maintain_order=True)


def baseline_of(frame: pl.DataFrame, wanted: str | None = None) -> str:
    """`wanted`, or CLOCK where it was replayed, or the first policy."""
    policies = frame["policy"].unique(maintain_order=True).to_list()
    if wanted is not None and wanted not in policies:
        raise BadInput(f"baseline '{wanted}': not among the replayed policies; expected one of: {' '.join(policies)}")
    return wanted or ("clock" if "clock" in policies else str(policies[0]))


def is_bound(policy: str) -> bool:
    """Whether a policy knows the future: a bound to compare with, not one to choose."""
    return policy.split(":")[0] in ("opt", "opt-greedy", "opt-cost")


def relative(frame: pl.DataFrame, baseline: str) -> pl.DataFrame:
    """`ratio`: I/O time by the baseline's at the same memory. `fig4_*`: without file writes, by part. Null where the baseline is 0."""
    fig4 = pl.sum_horizontal(f"{part}_ns" for part in PARTS)
    base = frame.filter(pl.col("policy") == baseline).select("memory_pages", base_ns="io_time_ns", base_fig4_ns=fig4)

    def over(value: pl.Expr, base: str) -> pl.Expr:
        return pl.when(pl.col(base) > 0).then(value / pl.col(base))

    return (
        frame.join(base, on="memory_pages", how="left", maintain_order="left")
        .with_columns(
            over(pl.col("io_time_ns"), "base_ns").alias("ratio"),
            over(fig4, "base_fig4_ns").alias("fig4_ratio"),
            *(over(pl.col(f"{part}_ns"), "base_fig4_ns").alias(f"fig4_{part}") for part in PARTS),
        )
        .drop("base_ns", "base_fig4_ns")
    )


@dataclass(frozen=True)
class Standing:
    """One policy over every memory size that counts: geometric mean of its ratios, their range, and at how many sizes it is the best."""

    policy: str
    mean: float
    low: float
    high: float
    wins: int


def standings(rows: pl.DataFrame) -> list[Standing]:
    """Best first. Only sizes that the trace's filter allows, and only policies that were replayed at all of them."""
    valid = rows.filter(~pl.col("filter_limited") & pl.col("ratio").is_not_null())
    sizes = valid["memory_pages"].n_unique()
    choosable = valid.filter(~pl.col("policy").map_elements(is_bound, return_dtype=pl.Boolean))
    best = dict(choosable.group_by("memory_pages").agg(pl.col("ratio").min()).iter_rows())
    found = []
    for (policy,), group in valid.group_by("policy", maintain_order=True):
        ratios = group["ratio"].to_list()
        if len(ratios) < sizes:
            continue
        mean = math.exp(sum(math.log(max(ratio, 1e-12)) for ratio in ratios) / len(ratios))
        wins = sum(ratio == best.get(pages) for pages, ratio in zip(group["memory_pages"], ratios, strict=True))
        found.append(Standing(str(policy), mean, min(ratios), max(ratios), wins))
    return sorted(found, key=lambda one: (one.mean, one.policy))
