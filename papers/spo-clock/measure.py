"""Measures of SPO-CLOCK's claims: I/O time of four policies on real traces, by the paper's view
(file writes left out).
"""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import swaplab
from swaplab.analysis.papers import Measured, data_folder, document_of, given_traces, interval_text
from swaplab.analysis.papers_users import mean_over_items
from swaplab.core import experiment as experiments
from swaplab.core.model import Row

HERE = Path(__file__).parent
BUNDLED = sorted((Path(swaplab.__file__).parent / "data").glob("*.slt"))
OTHERS = sorted((HERE / "traces").glob("*.slt"))
#: Readings that the text leaves open: first touch of an anonymous page, and T0.
FIRST_TOUCH, T0 = ("charged", "zero-fill"), (8, 1)
#: Section 3: nanoseconds of one operation.
COST = {"swap_reads": 5263, "swap_writes": 28571, "file_reads": 10000}

Point = dict[str, Row]


def _traces() -> tuple[Path, ...]:
    """The traces of `--traces`, or those of the package and of this folder."""
    return tuple(given_traces() or sorted([*BUNDLED, *OTHERS], key=lambda trace: trace.stem))


Points = tuple[tuple[str, Point], ...]


def _points() -> Points:
    return _points_of(_traces())


@cache
def _points_of(traces: tuple[Path, ...], *changes: str) -> Points:
    """Program and rows by policy, for every point that the trace's filter allows; small memory
    first.
    """
    found = []
    for trace in traces:
        rows = document_of(experiments.read(HERE / "experiment.toml", [f"workload.trace={trace}", *changes])).rows
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


def _gains(over: str, policy: str = "spo-clock", points: Points | None = None) -> dict[str, list[float]]:
    """By program: percent of I/O time saved at each point."""
    gains: dict[str, list[float]] = {}
    for program, point in points or _points():
        gains.setdefault(program, []).append(100 * (1 - _io(point, policy) / _io(point, over)))
    return gains


def _means(gains: dict[str, list[float]]) -> dict[str, float]:
    return {program: sum(each) / len(each) for program, each in gains.items()}


def _mean_gain(over: str, points: Points | None = None, policy: str = "spo-clock") -> Measured:
    means = _means(_gains(over, policy, points))
    mean, sure = mean_over_items(means)
    each = ", ".join(f"{program} {value:+.1f}" for program, value in means.items())
    return Measured(mean, f"{mean:+.1f} % ({interval_text(sure, '+.1f')}; n = {len(means)}: {each})", interval=sure, n=len(means))


def _gain_of_reading(traces: list[Path], first_touch: str, t0: int) -> dict[str, float]:
    """By program: the mean gain over CLOCK with a reading."""
    policies = ", ".join(f'"spo-clock:t0={each}"' for each in T0)
    changes = (f"run.replay.first_touch={first_touch}", f'design=[{{policy=["clock", {policies}]}}]')
    return _means(_gains("clock", f"spo-clock:t0={t0}", _points_of(tuple(traces), *changes)))


def best_of_four_readings() -> Measured:
    """Against CLOCK, the reading with the highest mean on the bundled programs, on the others."""
    readings = list(product(FIRST_TOUCH, T0))
    searched = {reading: mean_over_items(_gain_of_reading(BUNDLED, *reading))[0] for reading in readings}
    best = max(readings, key=lambda reading: searched[reading])
    shown = {reading: mean_over_items(_gain_of_reading(OTHERS, *reading)) for reading in readings}
    value, sure = shown[best]
    every = ", ".join(f"{touch} T0 {t0} {mean:+.1f}" for (touch, t0), (mean, _) in shown.items())
    text = f"{value:+.1f} % with {best[0]}, T0 {best[1]} ({interval_text(sure, '+.1f')}; all four: {every})"
    return Measured(value, text, interval=sure, n=len(OTHERS))


def _behind_cache(folder: str) -> Measured | None:
    """The gain on programs captured behind a simulated processor cache (capture-cache.sh), where
    they are.
    """
    data = data_folder()
    traces = tuple(sorted((data / "spo-clock" / folder).glob("*.slt"))) if data is not None else ()
    return _mean_gain("clock", _points_of(traces)) if traces else None


def gain_behind_l1() -> Measured | None:
    return _behind_cache("l1")


def gain_behind_l1_and_ll() -> Measured | None:
    return _behind_cache("l1-ll")


def _best_gain(over: str) -> Measured:
    best, program = max((max(gains), program) for program, gains in _gains(over).items())
    return Measured(best, f"{best:+.1f} % ({program})")


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
    held = total = by_number = 0
    for _, point in _points():
        for row in point.values():
            total += 1
            by_number += _count(row, "swap_writes") > _count(row, "swap_reads")
            held += _count(row, "swap_writes") * COST["swap_writes"] > _count(row, "swap_reads") * COST["swap_reads"]
    return Measured(held / total, f"{held} of {total} bars have more swap write than swap read time, {by_number} more writes than reads")


def swap_writes_fall() -> Measured:
    falls = [100 * (1 - _count(point["spo-clock"], "swap_writes") / _count(point["clock"], "swap_writes")) for _, point in _points()]
    mean, fewer = sum(falls) / len(falls), sum(fall > 0 for fall in falls)
    return Measured(mean, f"{mean:+.1f} % on average; they fall at {fewer} of {len(falls)} points")


def file_reads_rise() -> Measured:
    rises = [100 * (_count(point["spo-clock"], "file_reads") / _count(point["clock"], "file_reads") - 1) for _, point in _points()]
    mean, more = sum(rises) / len(rises), sum(rise > 0 for rise in rises)
    return Measured(mean, f"{mean:+.1f} % on average; they rise at {more} of {len(rises)} points")


def small_memory_gains_more() -> Measured:
    """The share of programs that gain at their smallest size, and more than at 25 %. A smaller loss
    is no gain.
    """
    gains = [each for each in _gains("clock").values() if len(each) > 1]
    more = sum(each[0] > 0 and each[0] > each[-1] for each in gains)
    smaller = sum(each[0] <= 0 and each[0] > each[-1] for each in gains)
    return Measured(more / len(gains), f"{more} of {len(gains)} programs; {smaller} others lose less", n=len(gains))


def hand_steps() -> Measured:
    steps = [_count(point["spo-clock"], "scanned_pages") / _count(point["spo-clock"], "faults") for _, point in _points()]
    mean = sum(steps) / len(steps)
    return Measured(mean, f"{mean:.1f} on average, {max(steps):.1f} at most")


def shadow_pages() -> Measured:
    return Measured(16 * 262_144 / 4096, "16 B x 262,144 = 1,024 pages")
