"""Conversion of guests' records to the rows of the document's tables. Times are for a core of
`run.vm.gips` GIPS.
"""

from __future__ import annotations

import polars as pl

from swaplab.worlds.kernel.rows import HEAD, Columns
from swaplab.worlds.vm import records, tracepoints
from swaplab.worlds.vm.rows import PAGE, Runs, reason


def tables(done: list[Runs]) -> dict[str, pl.DataFrame]:
    """Build the tables launches (a row per visit, including the marked warm-up), timeline (a row
    per answer), kills (after the warm-up) and, if events were recorded, tracepoints.

    Times are in ns since the guest started, sizes in bytes.
    """
    rows: dict[str, list[Columns]] = {"launches": [], "timeline": [], "kills": [], "tracepoints": []}
    for runs in done:
        for number, outcome in enumerate(runs.outcomes):
            head: Columns = {"design": runs.of.design.name, "seed": runs.of.experiment.run.seed + number}
            rows["launches"] += [head | _launch(visit, runs.gips) for visit in outcome.visits]
            rows["timeline"] += [head | _moment(visit, runs.gips) for visit in outcome.visits]
            rows["kills"] += [head | _kill(kill, runs.gips) for kill in runs.kills[number]]
            rows["tracepoints"] += [head | _tracepoint(span, runs.gips) for span in tracepoints.spans(outcome.events)]
    schema = HEAD | {"at_ns": int, "app": str, "reason": str, "freed_bytes": int, "adjustment": int}
    schema |= {"free_bytes": int, "file_bytes": int, "stall_ns": int, "swap_free_percentage": int}
    frames = {name: pl.DataFrame(rows[name], infer_schema_length=None) for name in ("launches", "timeline") if rows[name]}
    frames["kills"] = pl.DataFrame(rows["kills"], schema=schema)
    if rows["tracepoints"]:
        frames["tracepoints"] = pl.DataFrame(rows["tracepoints"], schema=HEAD | tracepoints.COLUMNS)
    return frames


def _launch(visit: records.Visit, gips: float) -> Columns:
    kernel = visit.kernel
    times = {
        "at_ns": visit.at_ns,
        "ready_ns": visit.ready_ns,
        # A lower bound without kswapd's time while the app was runnable. With a spare core, the
        # actual time is between the two.
        "ready_without_kswapd_ns": visit.ready_ns - min(visit.process.run_delay_ns, visit.kswapd_ns),
        "cpu_user_ns": visit.waits.user_ns,
        "cpu_system_ns": visit.waits.system_ns,
        "run_delay_ns": visit.process.run_delay_ns,
        "io_wait_ns": visit.waits.io_ns,
        "memory_wait_ns": visit.waits.memory_ns,
        "kswapd_ns": visit.kswapd_ns,
        "psi_some_ns": kernel.get("psi_memory_some_us", 0) * 1000,
        "psi_full_ns": kernel.get("psi_memory_full_us", 0) * 1000,
        "oldest_generation_ns": visit.generations[0][0] * 10**6 if visit.generations else 0,
    }
    counts = {
        "swap_in_pages": "pswpin",
        "swap_out_pages": "pswpout",
        "anonymous_refaults": "workingset_refault_anon",
        "file_refaults": "workingset_refault_file",
        "scanned_kswapd": "pgscan_kswapd",
        "scanned_direct": "pgscan_direct",
        "reclaimed_kswapd": "pgsteal_kswapd",
        "reclaimed_direct": "pgsteal_direct",
    }
    head: Columns = {"round": visit.round, "warm_up": visit.warm_up, "app": visit.app, "start": visit.start, "live": visit.alive}
    faults = {"minor_faults": visit.process.minor_faults, "major_faults": visit.process.major_faults}
    stalls = {"direct_reclaims": sum(count for name, count in kernel.items() if name.startswith("allocstall"))}
    memory = {"free_bytes": visit.memory.free_kb << 10, "swap_free_bytes": visit.memory.swap_free_kb << 10}
    counted = {column: kernel.get(name, 0) for column, name in counts.items()}
    return head | {name: round(ns / gips) for name, ns in times.items()} | faults | counted | stalls | memory


def _moment(visit: records.Visit, gips: float) -> Columns:
    memory, total = visit.memory, visit.so_far
    return {
        "at_ns": round((visit.at_ns + visit.ready_ns) / gips),
        "anon_bytes": memory.anonymous_kb << 10,
        "file_bytes": memory.file_kb << 10,
        "swap_bytes": (memory.swap_total_kb - memory.swap_free_kb) << 10,
        "pool_bytes": memory.zram[2] if memory.zram else 0,
        "live": visit.alive,
        "swap_in_bytes": total.swap_in_pages * PAGE,
        "swap_out_bytes": total.swap_out_pages * PAGE,
        "psi_some_us": round(total.psi_some_us / gips),
        "psi_full_us": round(total.psi_full_us / gips),
        "kernel_kills": total.kernel_kills,
    }


def _tracepoint(span: tracepoints.Span, gips: float) -> Columns:
    length: Columns = {} if span.length_ns is None else {"length_ns": round(span.length_ns / gips)}
    return length | {"at_ns": round(span.at_ns / gips), "track": span.track, "name": span.name, "detail": span.detail}


def _kill(kill: records.Kill, gips: float) -> Columns:
    return {
        "at_ns": round(kill.at_ns / gips),
        "app": kill.app,
        "reason": reason(kill),
        "freed_bytes": kill.resident_kb << 10,
        "adjustment": kill.adjustment,
        "free_bytes": kill.free_kb << 10,
        "file_bytes": kill.file_kb << 10,
        "stall_ns": round(kill.stall_ms * 1e6 / gips),
        "swap_free_percentage": kill.swap_free_percentage,
    }
