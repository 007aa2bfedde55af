"""Rows of a replayed trace as a polars frame, and costs of policies relative to a baseline policy.

Ratios over several memory sizes are averaged geometrically: a policy that doubles the time at one
size and halves it at another has mean 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from swaplab.analysis.registry import is_bound, key_of
from swaplab.analysis.verdict import Candidate, Verdict, verdict
from swaplab.core.errors import BadInput
from swaplab.core.model import Row
from swaplab.core.statistics import geometric_mean

#: The parts of Fig. 4 of SPO-CLOCK (Yoon, Cho and Bahn), which leaves file writes out.
PARTS = ("swap_read", "swap_write", "file_read")
COUNTS = ("references", "faults", "swap_reads", "swap_writes", "file_reads", "file_writes")
TIMES = ("swap_read_ns", "swap_write_ns", "file_read_ns", "file_write_ns", "io_ns")
SCHEME = ("copied_pages", "direct_reads", "swap_in_bytes", "swap_out_bytes", "nvm_write_bytes", "flash_write_bytes")


def size_label(row: Row) -> str:
    """Return the memory size as in the experiment, such as `10%`, else in pages."""
    given = row.point.get("machine.dram")
    frames = row.replay.frames if row.replay else 0
    return str(given) if given is not None else f"{frames:,} pages"


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Build a frame with one line per row of the world `replay`, ordered by memory.

    Columns: `design`, `policy`, `swap`, `frames`, `memory`, counts, times in ns, bytes; null if a
    figure is unknown. `stall_ns` is I/O time plus processor time for swap. Raises BadInput for a
    row of another world.
    """
    lines = []
    for row in rows:
        if row.replay is None:
            raise BadInput(f"{row.design}: a row of the world '{row.world}'; expected one of 'replay'")
        cpu, io = row.time.cpu_swap_ns or 0.0, row.time.io_ns or 0.0
        lines.append(
            {
                "design": row.design,
                "policy": row.policy,
                "swap": row.swap,
                "frames": row.replay.frames,
                "memory": size_label(row),
                "filter_limited": row.replay.filter_limited,
                **{name: getattr(row.paging, name) for name in (*COUNTS, *SCHEME)},
                **{name: getattr(row.time, name) for name in TIMES},
                "cpu_ns": cpu,
                "stall_ns": io + cpu,
                "energy_j": row.energy.total_j if row.energy else None,
                "frames_bytes": row.memory.dram_bytes,
                "dram_total_bytes": row.memory.total_dram_bytes if row.memory.total_dram_bytes is not None else row.memory.dram_bytes,
                "nvm_bytes": row.memory.nvm_bytes,
                "flash_bytes": row.memory.flash_bytes,
            }
        )
    texts = {"design": pl.String, "policy": pl.String, "swap": pl.String, "memory": pl.String}
    numbers = dict.fromkeys((*COUNTS, *SCHEME, *TIMES, "cpu_ns", "stall_ns", "energy_j", "frames_bytes", "dram_total_bytes"), pl.Float64)
    schema = {**texts, "frames": pl.Int64, "filter_limited": pl.Boolean, **numbers, "nvm_bytes": pl.Float64, "flash_bytes": pl.Float64}
    return pl.DataFrame(lines, schema_overrides=schema, infer_schema_length=None).sort("frames", maintain_order=True)


def baseline_of(frame: pl.DataFrame, wanted: str | None = None) -> str:
    """Choose the baseline: `wanted`, else the first design with policy CLOCK, else the first one.
    Raises BadInput for an unknown design.
    """
    designs = frame["design"].unique(maintain_order=True).to_list()
    if wanted is not None and wanted not in designs:
        raise BadInput(f"baseline '{wanted}': no such design; expected one of: {', '.join(designs)}")
    clock = [name for name, policy in frame.select("design", "policy").iter_rows() if key_of(policy) == "clock"]
    return wanted or str((clock or designs)[0])


def relative(frame: pl.DataFrame, baseline: str) -> pl.DataFrame:
    """Add the columns `ratio` (I/O time divided by the baseline's at equal memory) and `fig4_*`
    (without file writes, by part).

    They are null if the baseline's time is 0.
    """
    fig4 = pl.sum_horizontal(f"{part}_ns" for part in PARTS)
    base = frame.filter(pl.col("design") == baseline).select("frames", base_ns="io_ns", base_fig4_ns=fig4)

    def over(value: pl.Expr, base: str) -> pl.Expr:
        return pl.when(pl.col(base) > 0).then(value / pl.col(base))

    return (
        frame.join(base, on="frames", how="left", maintain_order="left")
        .with_columns(
            over(pl.col("io_ns"), "base_ns").alias("ratio"),
            over(fig4, "base_fig4_ns").alias("fig4_ratio"),
            *(over(pl.col(f"{part}_ns"), "base_fig4_ns").alias(f"fig4_{part}") for part in PARTS),
        )
        .drop("base_ns", "base_fig4_ns")
    )


@dataclass(frozen=True)
class Standing:
    """A design over all valid memory sizes: geometric mean of its ratios, their range, and the
    number of sizes at which it is best.
    """

    design: str
    mean: float
    low: float
    high: float
    wins: int
    bound: bool


def standings(rows: pl.DataFrame) -> list[Standing]:
    """Rank the designs, best first. Only sizes that the trace's filter allows count, and only
    designs replayed at all of them.
    """
    valid = rows.filter(~pl.col("filter_limited") & pl.col("ratio").is_not_null())
    sizes = valid["frames"].n_unique()
    policies = dict(valid.select("design", "policy").iter_rows())
    choosable = valid.filter(pl.col("design").is_in([name for name, policy in policies.items() if not is_bound(policy)]))
    best = dict(choosable.group_by("frames").agg(pl.col("ratio").min()).iter_rows())
    listed = []
    for (design,), group in valid.group_by("design", maintain_order=True):
        ratios = group["ratio"].to_list()
        if len(ratios) < sizes:
            continue
        wins = sum(ratio == best.get(frames) for frames, ratio in zip(group["frames"], ratios, strict=True))
        bound = is_bound(policies[str(design)])
        listed.append(Standing(str(design), geometric_mean(ratios), min(ratios), max(ratios), wins, bound))
    return sorted(listed, key=lambda standing: (standing.mean, standing.design))


def standing_verdict(standing: Sequence[Standing], baseline: str, is_limited: bool) -> Verdict:
    """Return the verdict over all memory sizes of one trace. Counts of a replay are exact, so a
    difference needs no interval.
    """
    if not [row for row in standing if not row.bound]:
        why = "every memory size is below what the trace's filter allows" if is_limited else f"{baseline} did no I/O at any of these sizes"
        return Verdict(None, f"No verdict: {why}.")
    candidates = [Candidate(row.design, row.mean, bound=row.bound) for row in standing]
    return verdict(candidates, f"I/O time on this trace, as a share of {baseline}'s", exact=True)
