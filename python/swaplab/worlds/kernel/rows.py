"""Conversion of outcomes to a row of the document and to the rows of its tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import polars as pl

from swaplab.core.model import Calibration, KernelDetail, LaunchFigures, Memory, Paging, Row, SeedRow, Time
from swaplab.worlds.apps import workload_name
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.kernel.killer import OUT_OF_MEMORY
from swaplab.worlds.kernel.protocol import Outcome, Visit
from swaplab.worlds.kernel.schemes import scheme_of
from swaplab.worlds.launch_figures import classes, intervals, mean, medians, outliers, spread
from swaplab.worlds.procfs import PAGE
from swaplab.worlds.swap import spec_text


def row(of: Configuration, outcomes: list[Outcome], calibration: Calibration | None = None, invalid: str | None = None) -> Row:
    """Build the row of a configuration: times over all repetitions, counts as means per repetition.
    Without outcomes, figures are null.
    """
    seed = of.experiment.run.seed
    by_seed = [SeedRow(seed=seed + number, figures=_figures(outcome)) for number, outcome in enumerate(outcomes)]
    measured = Row(
        world="kernel",
        kind=scheme_of(of).kind,
        design=of.design.name,
        policy=spec_text(of.design.policy),
        swap=of.swap.text,
        app_policy=spec_text(of.design.app_policy),
        killer=spec_text(of.killer_spec),
        machine=of.experiment.machine.base,
        workload=workload_name(of.experiment),
        point={},
        seed=seed,
        seeds=max(1, len(outcomes)),
        memory=Memory(),
        paging=Paging(),
        time=Time(),
        media={},
        interval={},
        by_seed=by_seed if len(by_seed) > 1 else [],
        invalid=invalid,
    )
    if not outcomes:
        return measured
    visits = [visit for outcome in outcomes for visit in outcome.visits]
    measured.launches = _launches(outcomes, visits, seed)
    measured.interval = intervals(measured.launches)
    measured.memory, measured.paging, measured.time = _memory(of, outcomes), _paging(of, outcomes), _time(outcomes)
    measured.kernel = _detail(of, outcomes, visits, calibration)
    return measured


def counted(visits: list[Visit]) -> list[Visit]:
    """Return the visits after the warm-up."""
    return [visit for visit in visits if not visit.warm_up]


def kills_of(outcome: Outcome) -> int:
    """Count the apps killed by the killer, the limit on cached apps and the kernel."""
    return len(outcome.kills) + outcome.counts["kernel_kills"]


def _launches(outcomes: list[Outcome], visits: list[Visit], seed: int) -> LaunchFigures:
    """Figures of the launches after the warm-up. The distribution of cold starts also includes
    those of the warm-up.
    """
    rows, repetitions = counted(visits), len(outcomes)
    reasons = Counter(kill.reason for outcome in outcomes for kill in outcome.kills)
    reasons[OUT_OF_MEMORY] += sum(outcome.counts["kernel_kills"] for outcome in outcomes)
    return LaunchFigures(
        count=len(rows) / repetitions,
        cold=sum(visit.start == "cold" for visit in rows) / repetitions,
        resumes=sum(visit.start == "resume" for visit in rows) / repetitions,
        kills=mean([kills_of(outcome) for outcome in outcomes]),
        kill_reasons={reason: count / repetitions for reason, count in sorted(reasons.items()) if count},
        delay_ms=spread([(visit.app, visit.ms) for visit in rows], seed),
        cold_ms=spread([(visit.app, visit.ms) for visit in visits if visit.start == "cold"], seed),
        resume_ms=spread([(visit.app, visit.ms) for visit in rows if visit.start == "resume"], seed),
        ux=classes([visit.ms for visit in rows], repetitions),
    )


def _figures(outcome: Outcome) -> dict[str, float]:
    """Compute the figures of one repetition by their path in the row."""
    rows = counted(outcome.visits)
    figures = {
        "launches.count": float(len(rows)),
        "launches.cold": float(sum(visit.start == "cold" for visit in rows)),
        "launches.resumes": float(sum(visit.start == "resume" for visit in rows)),
        "launches.kills": float(kills_of(outcome)),
        "launches.delay_ms.mean": mean([visit.ms for visit in rows]),
        "paging.swap_in_bytes": float(outcome.counts["swap_in_bytes"]),
        "paging.swap_out_bytes": float(outcome.counts["swap_out_bytes"]),
        "paging.direct_reads": float(outcome.counts["direct_reads"]),
        "paging.file_refaults": float(outcome.counts["file_refaults"]),
    }
    for start, name in (("cold", "cold_ms"), ("resume", "resume_ms")):
        if values := [visit.ms for visit in rows if visit.start == start]:
            figures[f"launches.{name}.mean"] = mean(values)
    return figures


def _count(outcomes: list[Outcome], name: str) -> float:
    return round(mean([outcome.counts[name] for outcome in outcomes]), 1)


def _maximum(outcomes: list[Outcome], name: str) -> float:
    return float(max(outcome.memory.get(name, 0) for outcome in outcomes))


def _memory(of: Configuration, outcomes: list[Outcome]) -> Memory:
    dram, pool, metadata = (_maximum(outcomes, name) for name in ("limit", "pool", "metadata"))
    media = of.swap.media()
    return Memory(
        dram_bytes=dram,
        pool_bytes=pool,
        # the kernel does not report the size of its tables
        metadata_bytes=metadata if "metadata" in outcomes[0].memory else None,
        other_medium_bytes=float(sum(media.values())),
        nvm_bytes=float(media["nvm"]) if "nvm" in media else None,
        flash_bytes=float(media["flash"]) if "flash" in media else None,
        total_dram_bytes=dram + pool + metadata,
        pool_peak_bytes=max(pool, _maximum(outcomes, "pool_inside")),
    )


def _paging(of: Configuration, outcomes: list[Outcome]) -> Paging:
    swap_in = _count(outcomes, "swap_in_bytes")
    on_flash = of.swap.areas[:1] and of.swap.areas[0].medium == "flash" and scheme_of(of).kind == "measured"
    return Paging(
        major_faults=_count(outcomes, "major_faults"),
        refaults=_count(outcomes, "anon_refaults") + _count(outcomes, "file_refaults"),
        file_refaults=_count(outcomes, "file_refaults"),
        swap_in_bytes=swap_in,
        swap_out_bytes=_count(outcomes, "swap_out_bytes"),
        copied_pages=swap_in / PAGE,
        direct_reads=_count(outcomes, "direct_reads"),
        read_ahead_pages=_count(outcomes, "read_ahead_pages"),
        flash_write_bytes=_count(outcomes, "disk_swap_out_bytes") if on_flash else None,
    )


def _time(outcomes: list[Outcome]) -> Time:
    """Mean duration of a whole repetition, and stalls of the rounds after the warm-up."""
    return Time(
        wall_ns=round(mean([outcome.seconds for outcome in outcomes]) * 1e9),
        psi_some_ns=_count(outcomes, "psi_some_us") * 1000,
        psi_full_ns=_count(outcomes, "psi_full_us") * 1000,
    )


def _detail(of: Configuration, outcomes: list[Outcome], visits: list[Visit], calibration: Calibration | None) -> KernelDetail:
    rows = counted(visits)
    peak = {"peak_bytes": _maximum(outcomes, "peak")}
    return KernelDetail(
        swap_size_bytes=of.swap.size,
        psi_scope=outcomes[0].psi_scope,
        others_swapping=any(outcome.others_swapping for outcome in outcomes),
        bad_pages=sum(outcome.bad_pages for outcome in outcomes),
        checked_apps=sum(outcome.checked_apps for outcome in outcomes),
        outliers_ms=outliers([visit.ms for visit in rows]),
        by_app_ms=medians([(visit.app, visit.ms) for visit in rows]),
        apps=outcomes[-1].apps,
        events={name: float(count) for name, count in outcomes[-1].events.items()},
        throttle=outcomes[-1].throttle,
        counters={name: _count(outcomes, name) for name in outcomes[0].counts} | peak,
        calibration=calibration,
    )


Columns = dict[str, str | int | float | bool]
#: The first columns of every table.
HEAD: dict[str, type] = {"design": str, "seed": int}


def tables(done: list[tuple[Configuration, list[Outcome]]]) -> dict[str, pl.DataFrame]:
    """Build the tables launches (a row per visit, including the marked warm-up), timeline (a row
    per answer) and kills (after the warm-up).

    Times are in ns since the start of a repetition, sizes in bytes.
    """
    rows: dict[str, list[Columns]] = {"launches": [], "timeline": [], "kills": []}
    for of, outcomes in done:
        for number, outcome in enumerate(outcomes):
            head: Columns = {"design": of.design.name, "seed": of.experiment.run.seed + number}
            rows["launches"] += [head | _launch(visit) for visit in outcome.visits]
            rows["timeline"] += [head | moment for moment in outcome.timeline]
            rows["kills"] += [head | asdict(death) for death in outcome.kills]
    kills = HEAD | {"at_ns": int, "app": str, "reason": str, "freed_bytes": int}
    frames = {name: pl.DataFrame(content, infer_schema_length=None) for name, content in rows.items() if name != "kills" and content}
    return frames | {"kills": pl.DataFrame(rows["kills"], schema=kills)}


def _launch(visit: Visit) -> Columns:
    rest = {key: value for key, value in asdict(visit).items() if key not in ("ms", "app", "at_ns", "start")}
    return {"at_ns": visit.at_ns, "app": visit.app, "start": visit.start, "ready_ns": round(visit.ms * 1e6), **rest}
