"""From visits to figures: rows of the document, means over seeds, intervals by seed."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from swaplab.worlds.vm import areas, records
from swaplab.worlds.vm.guest import Outcome
from swaplab.worlds.vm.request import Design, KillRow, LaunchRow, Request, Row, SeedRow, Spread

PAGE = 4096
#: Two-sided 95 % quantiles of Student's t for 1, 2, .. 30 degrees of freedom; beyond, the normal's.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
      2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the mean of independent values by Student's t; None for fewer than two."""
    if len(values) < 2:
        return None
    mean, degrees = statistics.fmean(values), len(values) - 1
    half = (_T[degrees - 1] if degrees <= len(_T) else 1.96) * statistics.stdev(values) / math.sqrt(len(values))
    return mean - half, mean + half


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile by linear interpolation."""
    ordered, at = sorted(values), share * (len(values) - 1)
    low = math.floor(at)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (at - low)


def spread(by_seed: list[list[float]]) -> Spread | None:
    """Milliseconds of all runs; the interval's unit is the seed, for launches of one run are not independent."""
    values = [value for run in by_seed for value in run]
    if not values:
        return None
    interval = mean_interval([statistics.fmean(run) for run in by_seed if run])
    return Spread(
        n=len(values), mean=statistics.fmean(values), p50=quantile(values, 0.5), p95=quantile(values, 0.95), mean_interval=interval
    )


def launch_row(design: Design, seed: int, visit: records.Visit, gips: float) -> LaunchRow:
    """A visit as a row; times are those of a core of `gips` GIPS."""
    kernel = visit.kernel

    def ns(value: float) -> int:
        return round(value / gips)

    stalls = sum(count for name, count in kernel.items() if name.startswith("allocstall"))
    behind_kswapd = min(visit.process.run_delay_ns, visit.kswapd_ns)
    return LaunchRow(
        design=design.name,
        seed=seed,
        round=visit.round,
        warm_up=visit.warm_up,
        app=visit.app,
        start=visit.start,
        at_ns=ns(visit.at_ns),
        ready_ns=ns(visit.ready_ns),
        ready_without_kswapd_ns=ns(visit.ready_ns - behind_kswapd),
        alive=visit.alive,
        cpu_user_ns=ns(visit.waits.user_ns),
        cpu_system_ns=ns(visit.waits.system_ns),
        run_delay_ns=ns(visit.process.run_delay_ns),
        io_wait_ns=ns(visit.waits.io_ns),
        memory_wait_ns=ns(visit.waits.memory_ns),
        minor_faults=visit.process.minor_faults,
        major_faults=visit.process.major_faults,
        swap_in_pages=kernel.get("pswpin", 0),
        swap_out_pages=kernel.get("pswpout", 0),
        anonymous_refaults=kernel.get("workingset_refault_anon", 0),
        file_refaults=kernel.get("workingset_refault_file", 0),
        scanned_kswapd=kernel.get("pgscan_kswapd", 0),
        scanned_direct=kernel.get("pgscan_direct", 0),
        reclaimed_kswapd=kernel.get("pgsteal_kswapd", 0),
        reclaimed_direct=kernel.get("pgsteal_direct", 0),
        direct_reclaims=stalls,
        psi_some_us=ns(kernel.get("psi_memory_some_us", 0)),
        psi_full_us=ns(kernel.get("psi_memory_full_us", 0)),
        kswapd_ns=ns(visit.kswapd_ns),
        free_kb=visit.memory.free_kb,
        file_kb=visit.memory.file_kb,
        swap_free_kb=visit.memory.swap_free_kb,
        pool_bytes=visit.memory.zram[2] if visit.memory.zram else None,
        oldest_generation_ms=round(visit.generations[0][0] / gips) if visit.generations else None,
    )


def kill_row(design: Design, seed: int, kill: records.Kill, gips: float) -> KillRow:
    """A kill as a row."""
    values = kill.model_dump(include={"app", "adjustment", "free_kb", "file_kb", "stall_ms", "swap_free_percentage", "resident_kb"})
    return KillRow(design=design.name, seed=seed, at_ns=round(kill.at_ns / gips), reason=kill.reason.replace("_", "-"), **values)


def _delays(outcomes: Iterable[Outcome], gips: float, start: Literal["cold", "resume"] | None = None) -> list[list[float]]:
    counted = [[visit for visit in outcome.visits if not visit.warm_up and start in (None, visit.start)] for outcome in outcomes]
    return [[visit.ready_ns / gips / 1e6 for visit in visits] for visits in counted]


def row(request: Request, design: Design, outcomes: list[Outcome]) -> Row:
    """One design's row: counts are means over seeds of the rounds that count."""
    gips, area = request.vm.gips, areas.of(design)
    counts = [outcome.counts for outcome in outcomes if outcome.counts is not None]
    counted = [[visit for visit in outcome.visits if not visit.warm_up] for outcome in outcomes]
    kills = [[kill for kill in outcome.kills if not kill.warm_up] for outcome in outcomes]
    reasons = Counter(kill.reason.replace("_", "-") for run in kills for kill in run)
    names = sorted({name for count in counts for name in count.kernel})
    means = {name: statistics.fmean(count.kernel.get(name, 0) for count in counts) for name in names}

    def of(*keys: str) -> float:
        return sum(means.get(key, 0.0) for key in keys)

    def per_run(values: Iterable[float]) -> float:
        return sum(values) / len(outcomes)

    pools = [max((visit.memory.zram[2] for visit in run if visit.memory.zram), default=None) for run in counted]
    known = [pool for pool in pools if pool is not None]
    swapped = [(count.kernel.get("pswpin", 0) * PAGE, count.kernel.get("pswpout", 0) * PAGE) for count in counts]
    delays = _delays(outcomes, gips)
    seeds = [
        SeedRow(
            seed=request.seed + number,
            delay_ms=statistics.fmean(delays[number]),
            p95_ms=quantile(delays[number], 0.95),
            cold=sum(visit.start == "cold" for visit in counted[number]),
            kills=len(kills[number]),
            swap_in_bytes=swapped[number][0],
            swap_out_bytes=swapped[number][1],
        )
        for number in range(len(outcomes))
    ]
    return Row(
        design=design.name,
        swap=str(design.swap),
        app_policy=str(design.app_policy),
        killer=str(design.killer) if design.killer else None,
        seed=request.seed,
        seeds=len(outcomes),
        dram_bytes=request.machine.dram,
        pool_bytes=statistics.fmean(known) if known else None,
        other_medium_bytes=area.medium_bytes,
        swap_in_bytes=of("pswpin") * PAGE,
        swap_out_bytes=of("pswpout") * PAGE,
        major_faults=of("pgmajfault"),
        file_refaults=of("workingset_refault_file"),
        anonymous_refaults=of("workingset_refault_anon"),
        direct_reads=of("swap_direct_map"),
        # Of all block devices in kB, swap's included (zram's and the NVM's too).
        file_read_bytes=max(0.0, of("pgpgin") * 1024 - of("pswpin") * PAGE),
        file_write_bytes=max(0.0, of("pgpgout") * 1024 - of("pswpout") * PAGE),
        scanned_pages=of("pgscan_kswapd", "pgscan_direct"),
        wall_ns=per_run((count.until_ns - count.since_ns) / gips for count in counts),
        cpu_user_ns=per_run(visit.waits.user_ns / gips for run in counted for visit in run),
        cpu_system_ns=per_run(visit.waits.system_ns / gips for run in counted for visit in run),
        kswapd_ns=per_run(visit.kswapd_ns / gips for run in counted for visit in run),
        killer_ns=per_run(count.killer_cpu_ns / gips for count in counts),
        psi_some_ns=of("psi_memory_some_us") * 1000 / gips,
        psi_full_ns=of("psi_memory_full_us") * 1000 / gips,
        count=per_run(len(run) for run in counted),
        cold=per_run(visit.start == "cold" for run in counted for visit in run),
        resumes=per_run(visit.start == "resume" for run in counted for visit in run),
        kills=per_run(len(run) for run in kills),
        kill_reasons={name: number / len(outcomes) for name, number in sorted(reasons.items())},
        delay_ms=spread(delays),
        cold_ms=spread(_delays(outcomes, gips, "cold")),
        resume_ms=spread(_delays(outcomes, gips, "resume")),
        bad_pages=sum(visit.bad for outcome in outcomes for visit in outcome.visits)
        + sum(check.bad for outcome in outcomes for check in outcome.checks),
        checked_apps=sum(len(outcome.checks) for outcome in outcomes),
        counters=means,
        by_seed=seeds,
    )
