"""Measures of SPO-CLOCK's claims: I/O time of four policies on real traces, by the paper's view (file writes left out)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import swaplab
from swaplab.analysis.papers import Measured, document_of
from swaplab.core import experiment as experiments
from swaplab.core.model import Row

HERE = Path(__file__).parent
TRACES = sorted([*(Path(swaplab.__file__).parent / "data").glob("*.slt"), *(HERE / "traces").glob("*.slt")], key=lambda t: t.stem)
#: Section 3: nanoseconds of one operation.
COST = {"swap_reads": 5263, "swap_writes": 28571, "file_reads": 10000}

Point = dict[str, Row]


@cache
def _points() -> tuple[tuple[str, Point], ...]:
    """Program and rows by policy, for every point that the trace's filter allows; small memory first."""
    found = []
    for trace in TRACES:
        rows = document_of(experiments.read(HERE / "experiment.toml", [f"workload.trace={trace}"])).rows
        valid = [row for row in rows if row.replay is not None and not row.replay.filter_limited]
        for frames in sorted({row.replay.frames for row in valid if row.replay is not None}):
            found.append((trace.stem, {row.policy: row for row in valid if row.replay is not None and row.replay.frames == frames}))
    return tuple(found)


def _count(row: Row, what: str) -> float:
    """A count that a replay always knows."""
    value = getattr(row.paging, what)
    assert value is not None, what
    return float(value)


def _io(point: Point, policy: str) -> float:
    return sum(_count(point[policy], what) * cost for what, cost in COST.items())


def _gains(over: str, policy: str = "spo-clock") -> dict[str, list[float]]:
    """By program: percent of I/O time saved at each point."""
    gains: dict[str, list[float]] = {}
    for program, point in _points():
        gains.setdefault(program, []).append(100 * (1 - _io(point, policy) / _io(point, over)))
    return gains


def _mean_gain(over: str) -> Measured:
    means = {program: sum(gains) / len(gains) for program, gains in _gains(over).items()}
    mean = sum(means.values()) / len(means)
    each = ", ".join(f"{program} {value:+.1f}" for program, value in means.items())
    return Measured(mean, f"{mean:+.1f} % (n = {len(means)}: {each})", ordered=mean > 0)


def _best_gain(over: str) -> Measured:
    best, program = max((max(gains), program) for program, gains in _gains(over).items())
    return Measured(best, f"{best:+.1f} % ({program})", ordered=best > 0)


def mean_gain_over_clock() -> Measured:
    return _mean_gain("clock")


def best_gain_over_clock() -> Measured:
    return _best_gain("clock")


def mean_gain_over_arc() -> Measured:
    return _mean_gain("arc")


def best_gain_over_arc() -> Measured:
    return _best_gain("arc")


def wins() -> Measured:
    points = [(_io(point, "spo-clock"), min(_io(point, other) for other in ("clock", "arc", "lru"))) for _, point in _points()]
    won = sum(ours < best for ours, best in points)
    return Measured(won / len(points), f"{won} of {len(points)} points")


def lru_against_clock() -> Measured:
    gaps = [abs(gain) for gains in _gains("clock", "lru").values() for gain in gains]
    mean = sum(gaps) / len(gaps)
    return Measured(mean, f"{mean:.1f} % apart on average, {max(gaps):.1f} % at most")


def swap_writes_dominate() -> Measured:
    held = total = 0
    for _, point in _points():
        for row in point.values():
            total += 1
            held += _count(row, "swap_writes") * COST["swap_writes"] > _count(row, "swap_reads") * COST["swap_reads"]
    return Measured(held / total, f"{held} of {total} bars have more swap write than swap read time", ordered=2 * held > total)


def swap_writes_fall() -> Measured:
    falls = [100 * (1 - _count(point["spo-clock"], "swap_writes") / _count(point["clock"], "swap_writes")) for _, point in _points()]
    mean, fewer = sum(falls) / len(falls), sum(fall > 0 for fall in falls)
    return Measured(mean, f"{mean:+.1f} % on average; they fall at {fewer} of {len(falls)} points")


def file_reads_rise() -> Measured:
    rises = [100 * (_count(point["spo-clock"], "file_reads") / _count(point["clock"], "file_reads") - 1) for _, point in _points()]
    mean, more = sum(rises) / len(rises), sum(rise > 0 for rise in rises)
    return Measured(mean, f"{mean:+.1f} % on average; they rise at {more} of {len(rises)} points", ordered=2 * more > len(rises))


def small_memory_gains_more() -> Measured:
    steps = [gains[0] - gains[-1] for gains in _gains("clock").values() if len(gains) > 1]
    more = sum(step > 0 for step in steps)
    return Measured(more / len(steps), f"{more} of {len(steps)} programs", ordered=2 * more > len(steps))


def hand_steps() -> Measured:
    steps = [_count(point["spo-clock"], "scanned_pages") / _count(point["spo-clock"], "faults") for _, point in _points()]
    mean = sum(steps) / len(steps)
    return Measured(mean, f"{mean:.1f} on average, {max(steps):.1f} at most")


def shadow_pages() -> Measured:
    return Measured(16 * 262_144 / 4096, "16 B x 262,144 = 1,024 pages")
