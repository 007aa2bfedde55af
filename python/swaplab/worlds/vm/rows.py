"""Conversion of guests' records to a row of the document and the rows of its tables. Times are for
a core of `run.vm.gips` GIPS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from swaplab.core.model import KernelDetail, LaunchFigures, MappedReads, Memory, Paging, Row, SeedRow, Spread, Time
from swaplab.core.statistics import mean_interval, quantile
from swaplab.worlds.apps import workload_name
from swaplab.worlds.kernel.collect import events
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.launch_figures import classes, intervals, medians, outliers
from swaplab.worlds.swap import spec_text
from swaplab.worlds.vm import plan, reads, records
from swaplab.worlds.vm.areas import area_of
from swaplab.worlds.vm.guest import Outcome

PAGE = 4096


def spread(by_seed: list[list[float]]) -> Spread | None:
    """The distribution in ms over all runs. The interval's unit is the seed, as launches of one run
    are not independent.
    """
    values = [value for run in by_seed for value in run]
    if not values:
        return None
    interval = mean_interval([fmean(run) for run in by_seed if run])
    bounds = None if interval is None else (interval.low, interval.high)
    return Spread(n=len(values), mean=fmean(values), p50=quantile(values, 0.5), p95=quantile(values, 0.95), mean_interval=bounds)


@dataclass(frozen=True)
class Runs:
    """The runs of a configuration, one per seed."""

    of: Configuration
    outcomes: list[Outcome]

    @property
    def gips(self) -> float:
        """The divisor of the guest's times."""
        return self.of.experiment.run.vm.gips

    @cached_property
    def counted(self) -> list[list[records.Visit]]:
        """Visits after the warm-up, by seed."""
        return [[visit for visit in outcome.visits if not visit.warm_up] for outcome in self.outcomes]

    @cached_property
    def kills(self) -> list[list[records.Kill]]:
        """Kills after the warm-up, by seed."""
        return [[kill for kill in outcome.kills if not kill.warm_up] for outcome in self.outcomes]

    @cached_property
    def counts(self) -> list[records.Counts]:
        """The kernel's counts over the rounds after the warm-up, by seed."""
        return [outcome.counts for outcome in self.outcomes if outcome.counts is not None]

    @cached_property
    def means(self) -> dict[str, float]:
        """Means of the kernel's counts over seeds, by the kernel's names."""
        names = sorted({name for count in self.counts for name in count.kernel})
        return {name: fmean(count.kernel.get(name, 0) for count in self.counts) for name in names}

    def mean(self, *names: str) -> float:
        """Sum the means over seeds of the named counts."""
        return sum(self.means.get(name, 0.0) for name in names)

    def per_run(self, total: float) -> float:
        """Convert a total of all runs to a mean per run."""
        return total / len(self.outcomes)

    def ms(self, visit: records.Visit) -> float:
        """Return a visit's delay in ms."""
        return visit.ready_ns / self.gips / 1e6

    def delays(self, start: str | None = None) -> list[list[float]]:
        """Return the delays in ms by seed, only of cold starts or of resumes if `start` is
        given.
        """
        return [[self.ms(visit) for visit in run if start in (None, visit.start)] for run in self.counted]


def row(runs: Runs) -> Row:
    """Build the row of a configuration. Counts are means over seeds of the rounds after the
    warm-up.
    """
    of = runs.of
    launches = _launches(runs)
    by_seed = [SeedRow(seed=of.experiment.run.seed + number, figures=_figures(runs, number)) for number in range(len(runs.outcomes))]
    return Row(
        world="vm",
        kind="virtual",
        design=of.design.name,
        policy=spec_text(of.design.policy),
        swap=of.swap.text,
        app_policy=spec_text(of.design.app_policy),
        killer=spec_text(of.killer_spec),
        machine=of.experiment.machine.base,
        workload=workload_name(of.experiment),
        point={},
        seed=of.experiment.run.seed,
        seeds=len(runs.outcomes),
        memory=_memory(runs),
        paging=paging_of(runs.means),
        time=_time(runs),
        launches=launches,
        media={},
        interval=intervals(launches),
        by_seed=by_seed if len(by_seed) > 1 else [],
        invalid=None,
        kernel=_detail(runs),
    )


def _launches(runs: Runs) -> LaunchFigures:
    visits = [visit for run in runs.counted for visit in run]
    reasons = Counter(reason(kill) for run in runs.kills for kill in run)
    return LaunchFigures(
        count=runs.per_run(len(visits)),
        cold=runs.per_run(sum(visit.start == "cold" for visit in visits)),
        resumes=runs.per_run(sum(visit.start == "resume" for visit in visits)),
        kills=runs.per_run(sum(map(len, runs.kills))),
        kill_reasons={reason: runs.per_run(count) for reason, count in sorted(reasons.items())},
        delay_ms=spread(runs.delays()),
        cold_ms=spread(runs.delays("cold")),
        resume_ms=spread(runs.delays("resume")),
        ux=classes([runs.ms(visit) for visit in visits], len(runs.outcomes)),
    )


def reason(kill: records.Kill) -> str:
    return kill.reason.replace("_", "-")


def _figures(runs: Runs, number: int) -> dict[str, float]:
    """Compute the figures of one seed by their path in the row."""
    visits, counts = runs.counted[number], runs.counts[number].kernel
    delays = [runs.ms(visit) for visit in visits]
    paging = paging_of({name: float(count) for name, count in counts.items()})
    figures = {
        "launches.count": float(len(visits)),
        "launches.cold": float(sum(visit.start == "cold" for visit in visits)),
        "launches.resumes": float(sum(visit.start == "resume" for visit in visits)),
        "launches.kills": float(len(runs.kills[number])),
        "launches.delay_ms.mean": fmean(delays),
        "launches.delay_ms.p50": quantile(delays, 0.5),
        "launches.delay_ms.p95": quantile(delays, 0.95),
        **{f"paging.{name}": float(value) for name, value in paging.model_dump(exclude_none=True).items()},
    }
    for start, name in (("cold", "cold_ms"), ("resume", "resume_ms")):
        if values := [runs.ms(visit) for visit in visits if visit.start == start]:
            figures[f"launches.{name}.mean"] = fmean(values)
    return figures


def _memory(runs: Runs) -> Memory:
    """Compute the row's memory.

    zRAM's pool is part of the guest's memory; if a control group is the limit, the pool is added to
    it. A RAM disk is added in both cases.
    """
    area = area_of(runs.of)
    pools = [visit.memory.zram[2] for run in runs.counted for visit in run if visit.memory.zram]
    extra_bytes = area.own_bytes + (max(pools, default=0) if plan.memory(runs.of)[1] is not None else 0)
    return Memory(
        dram_bytes=float(runs.of.memory),
        pool_bytes=float(extra_bytes),
        other_medium_bytes=float(area.flash_bytes + area.nvm_bytes),
        nvm_bytes=float(area.nvm_bytes) if area.nvm_bytes else None,
        flash_bytes=float(area.flash_bytes) if area.flash_bytes else None,
        total_dram_bytes=float(runs.of.memory + extra_bytes),
        pool_peak_bytes=float(max(pools)) if pools else None,
    )


def paging_of(counts: Mapping[str, float]) -> Paging:
    """Compute the page traffic from the kernel's counts, given by the kernel's names.

    A slot mapped in place that is copied to DRAM later, for a write or a pin, is a copy from swap
    without a request: `pswpin` lacks it.
    """

    def total(*names: str) -> float:
        return sum(counts.get(name, 0.0) for name in names)

    requested, swap_out = total("pswpin") * PAGE, total("pswpout") * PAGE
    copied = total("pswpin", "swap_direct_copy")
    return Paging(
        major_faults=total("pgmajfault"),
        refaults=total("workingset_refault_anon", "workingset_refault_file"),
        anon_refaults=total("workingset_refault_anon"),
        file_refaults=total("workingset_refault_file"),
        swap_in_bytes=copied * PAGE,
        swap_out_bytes=swap_out,
        copied_pages=copied,
        direct_reads=total("swap_direct_map"),
        promotions=total("swap_direct_copy"),
        read_ahead_pages=total("swap_ra"),
        # The kernel counts the kB of all block devices, including those of swap.
        file_read_bytes=max(0.0, total("pgpgin") * 1024 - requested),
        file_write_bytes=max(0.0, total("pgpgout") * 1024 - swap_out),
        scanned_pages=total("pgscan_kswapd", "pgscan_direct"),
        reclaimed_pages=total("pgsteal_kswapd", "pgsteal_direct"),
        reclaimed_direct_pages=total("pgsteal_direct"),
    )


def _time(runs: Runs) -> Time:
    visits = [visit for run in runs.counted for visit in run]
    virtual = runs.gips * len(runs.outcomes)
    return Time(
        kswapd_ns=sum(visit.kswapd_ns for visit in visits) / virtual,
        cpu_user_ns=sum(visit.waits.user_ns for visit in visits) / virtual,
        cpu_system_ns=sum(visit.waits.system_ns for visit in visits) / virtual,
        wall_ns=sum(count.until_ns - count.since_ns for count in runs.counts) / virtual,
        psi_some_ns=runs.mean("psi_memory_some_us") * 1000 / runs.gips,
        psi_full_ns=runs.mean("psi_memory_full_us") * 1000 / runs.gips,
    )


def _detail(runs: Runs) -> KernelDetail:
    visits = [visit for run in runs.counted for visit in run]
    outcomes = runs.outcomes
    wrong = sum(visit.bad for outcome in outcomes for visit in outcome.visits)
    counters = runs.means | {"killer_cpu_ns": fmean(count.killer_cpu_ns / runs.gips for count in runs.counts)}
    return KernelDetail(
        swap_size_bytes=runs.of.swap.size,
        psi_scope="guest",
        bad_pages=wrong + sum(check.bad for outcome in outcomes for check in outcome.checks),
        checked_apps=sum(len(outcome.checks) for outcome in outcomes),
        outliers_ms=outliers([runs.ms(visit) for visit in visits]),
        by_app_ms=medians([(visit.app, runs.ms(visit)) for visit in visits]),
        events={name: float(count) for name, count in events.count(outcomes[0].events).items()},
        counters=counters | _compactions(runs),
        mapped_reads=_mapped_reads(runs),
    )


def _mapped_reads(runs: Runs) -> MappedReads | None:
    """Price the loads from NVM mapped in place; None if they were not counted."""
    counted = [outcome.reads for outcome in runs.outcomes if outcome.reads is not None]
    if not counted:
        return None
    experiment = runs.of.experiment
    line_ns = reads.line_ns(experiment.machine.devices)
    by_seed = [
        [(runs.ms(visit), count.misses) for visit, count in zip(outcome.visits, read.visits, strict=True) if not visit.warm_up]
        for outcome, read in zip(runs.outcomes, counted, strict=True)
    ]
    return MappedReads(
        cache_bytes=reads.cache_bytes(experiment.run.vm),
        line_ns=line_ns,
        loads=fmean(read.counted.loads for read in counted),
        misses=fmean(read.counted.misses for read in counted),
        visit_misses=fmean(sum(misses for _, misses in run) for run in by_seed),
        delay_ms=spread([[ms + misses * line_ns / 1e6 for ms, misses in run] for run in by_seed]),
    )


def _compactions(runs: Runs) -> dict[str, float]:
    """Count the compactions of cached apps, and the memory that they paged out; nothing if apps are
    not compacted.
    """
    if plan.compaction(runs.of) is None:
        return {}
    done = [compaction for outcome in runs.outcomes for compaction in outcome.compactions if not compaction.warm_up]
    paged_out = sum(max(0, compaction.after.swap_kb - compaction.before.swap_kb) for compaction in done)
    took = sum(compaction.took_ns for compaction in done)
    totals = {"compactions": len(done), "compacted_kb": paged_out, "compaction_ns": took / runs.gips}
    return {name: runs.per_run(total) for name, total in totals.items()}
