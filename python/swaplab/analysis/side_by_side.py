"""Comparison of the same designs in several worlds: each figure with its difference, and the
simulator judged against the kernel.

Designs are paired by name, point and kind of workload. Worlds share no seeds, so a difference
between them has the interval of two independent figures. Goals (fixed before the first comparison):
swap-ins and swap-outs within 10 %, kills within 1, the median resume delay within 15 %, Kendall's
tau of the ranking by resume delay at least 0.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

from swaplab.analysis.outcomes import MIB, Outcome
from swaplab.core.bases import StrictModel
from swaplab.core.model import Kind, Row
from swaplab.core.statistics import Estimate, Interval, kendall, unpaired_difference

#: (outcome, greatest allowed difference, whether that is a count; otherwise it is a share of the
#: reference)
GOALS = (
    (Outcome("paging.swap_in_bytes", "swapped in", "MiB", 1 / MIB), 0.10, False),
    (Outcome("paging.swap_out_bytes", "swapped out", "MiB", 1 / MIB), 0.10, False),
    (Outcome("launches.kills", "kills", ""), 1.0, True),
    (Outcome("launches.resume_ms.p50", "median resume delay", "ms"), 0.15, False),
)
#: Outcomes without goals, shown if two worlds have them.
SHOWN = (Outcome("launches.delay_ms.mean", "mean launch delay", "ms"), Outcome("launches.cold", "cold starts", ""))
TAU = 0.9
#: MiB up to which relative differences are not judged: one batch of reclaim (32 pages).
NEGLIGIBLE_MIB = 32 * 4096 / MIB
#: Kinds by closeness to reality; the closest one is the reference.
TRUTH: tuple[Kind, ...] = ("measured", "emulated", "virtual", "simulated")


class Side(StrictModel):
    """One world's figure of a design."""

    world: str
    kind: Kind
    value: float | None
    interval: tuple[float, float] | None


class Pair(StrictModel):
    """A figure of one design in the reference world and in another.

    `difference`: other minus reference; `relative`: as a share of the reference. Both are None if a
    world does not have the figure; `relative` also if the reference is 0. `idle`: the figure is
    about 0 in both worlds, so that agreement is no evidence; `met` is None.
    """

    design: str
    point: str
    path: str
    what: str
    unit: str
    reference: Side
    other: Side
    difference: float | None
    interval: tuple[float, float] | None
    relative: float | None
    met: bool | None
    idle: bool


class Goal(StrictModel):
    """A goal for one figure in one world: `met` of the `pairs` that were judged are within it, and
    `idle` others were not judged. `median` and `largest` are absolute differences, None if nothing
    was judged.
    """

    world: str
    path: str
    what: str
    within: float
    is_count: bool
    pairs: int
    met: int
    idle: int
    median: float | None
    largest: float | None


class Ranking(StrictModel):
    """Kendall's tau-b between a world's ranking of designs and the reference's, by median resume
    delay.

    Designs whose intervals overlap are tied. `tau` is None if all designs are tied in either
    ranking.
    """

    world: str
    tau: float | None
    designs: int
    wanted: float = TAU


class WorldComparison(StrictModel):
    """The comparison of every world with the reference world."""

    document: Literal["worlds"] = "worlds"
    reference: str
    worlds: dict[str, Kind]
    pairs: list[Pair]
    goals: list[Goal]
    rankings: list[Ranking]
    missing: list[str]


def point_text(row: Row) -> str:
    return ", ".join(f"{key} = {value}" for key, value in row.point.items())


def compare_worlds(rows: Sequence[Row]) -> WorldComparison | None:
    """Compare rows of several worlds; None if fewer than two worlds ran a common design.

    Only rows with launches are compared, as replayed traces and programs are different workloads.
    """
    valid = [row for row in rows if row.invalid is None and row.launches is not None]
    kinds: dict[str, Kind] = {row.world: row.kind for row in valid}
    if len(kinds) < 2:
        return None
    reference = min(kinds, key=lambda world: TRUTH.index(kinds[world]))
    by_world = {world: {(row.design, point_text(row)): row for row in valid if row.world == world} for world in kinds}
    pairs, missing = [], []
    for world in kinds:
        if world == reference:
            continue
        for key, ours in by_world[reference].items():
            theirs = by_world[world].get(key)
            if theirs is None:
                missing.append(f"{world}: no {' at '.join(part for part in key if part)}")
                continue
            for outcome, within, is_count in GOALS:
                pairs.append(_pair(key, outcome, ours, theirs, within, is_count))
            pairs += [_pair(key, outcome, ours, theirs, None, False) for outcome in SHOWN]
    if not pairs:
        return None
    others = [world for world in kinds if world != reference]
    return WorldComparison(
        reference=reference,
        worlds=kinds,
        pairs=[pair for pair in pairs if pair.reference.value is not None or pair.other.value is not None],
        goals=[_goal(world, *goal, pairs) for world in others for goal in GOALS],
        rankings=[_ranking(world, pairs) for world in others],
        missing=missing,
    )


def _pair(key: tuple[str, str], outcome: Outcome, ours: Row, theirs: Row, within: float | None, is_count: bool) -> Pair:
    sides = [(outcome.value(row), outcome.interval(row)) for row in (ours, theirs)]
    (reference, reference_interval), (other, other_interval) = sides
    difference = relative = interval = met = None
    idle = False
    if reference is not None and other is not None:
        difference = other - reference
        interval = unpaired_difference(reference, reference_interval, other, other_interval)
        idle = max(reference, other) <= (NEGLIGIBLE_MIB if outcome.unit == "MiB" else 0)
        if reference and not idle:
            relative = difference / reference
        if within is not None and not idle:
            size = difference if is_count else relative
            met = size is not None and abs(size) <= within
    return Pair(
        design=key[0],
        point=key[1],
        path=outcome.path,
        what=outcome.words,
        unit=outcome.unit,
        reference=_side(ours, reference, reference_interval),
        other=_side(theirs, other, other_interval),
        difference=difference,
        interval=None if interval is None else (interval.low, interval.high),
        relative=relative,
        met=met,
        idle=idle,
    )


def _side(row: Row, value: float | None, interval: Interval | None) -> Side:
    return Side(world=row.world, kind=row.kind, value=value, interval=None if interval is None else (interval.low, interval.high))


def _goal(world: str, outcome: Outcome, within: float, is_count: bool, pairs: Sequence[Pair]) -> Goal:
    ours = [pair for pair in pairs if pair.other.world == world and pair.path == outcome.path]
    judged = [pair for pair in ours if pair.met is not None]
    sizes = [pair.difference if is_count else pair.relative for pair in judged]
    off = sorted(abs(size) for size in sizes if size is not None)
    return Goal(
        world=world,
        path=outcome.path,
        what=outcome.words,
        within=within,
        is_count=is_count,
        pairs=len(judged),
        met=sum(bool(pair.met) for pair in judged),
        idle=sum(pair.idle for pair in ours),
        median=median(off) if off else None,
        largest=off[-1] if off else None,
    )


def _estimate(side: Side) -> Estimate | None:
    return None if side.value is None else (side.value, None if side.interval is None else Interval(*side.interval))


def _ranking(world: str, pairs: Sequence[Pair]) -> Ranking:
    path = GOALS[3][0].path
    ours = [pair for pair in pairs if pair.other.world == world and pair.path == path]
    both = [(a, b) for pair in ours if (a := _estimate(pair.reference)) is not None and (b := _estimate(pair.other)) is not None]
    tau = kendall([reference for reference, _ in both], [other for _, other in both]) if len(both) > 1 else math.nan
    return Ranking(world=world, tau=None if math.isnan(tau) else tau, designs=len(both))
