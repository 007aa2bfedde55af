"""Intervals and tests. Reports, `compare`, `plan`, `recommend`, the world `vm` and the papers'
measures use this module; `analysis/verdict.py` has the verdicts.

Intervals are 95 % unless a caller gives another level. Comparisons within one world are paired by
seed, which removes what users differ in; comparisons between worlds or runs are not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev, variance

LEVEL = 0.95
#: Fewer units (users, seeds, traces, apps) than this say nothing about others.
FEWEST = 3
#: Draws of a bootstrap.
DRAWS = 500


@dataclass(frozen=True)
class Interval:
    """A confidence interval, in the unit of its figure."""

    low: float
    high: float


def separates(first: Interval | None, second: Interval | None) -> bool:
    """Whether two intervals do not meet; a figure without an interval is separated from nothing."""
    return first is not None and second is not None and (first.high < second.low or second.high < first.low)


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile by nearest rank, as the phone computes it; NaN if there are no values."""
    ordered = sorted(values)
    return ordered[max(1, math.ceil(share * len(ordered))) - 1] if ordered else math.nan


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean: of 2 and 0.5 it is 1. Values below 1e-12 count as 1e-12."""
    return math.exp(math.fsum(math.log(max(ratio, 1e-12)) for ratio in ratios) / len(ratios))


def mean_interval(values: Sequence[float], level: float = LEVEL) -> Interval | None:
    """Student's interval of the mean; None of fewer than two values."""
    if len(values) < 2:
        return None
    mean, half = fmean(values), student(level, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(mean - half, mean + half)


def paired_difference(first: Mapping[int, float], second: Mapping[int, float], level: float = LEVEL) -> Interval | None:
    """Student's interval of the mean of second - first over the seeds that both have; None for
    fewer than two.
    """
    return mean_interval([second[seed] - first[seed] for seed in first if seed in second], level)


def unpaired_difference(first: float, first_interval: Interval | None, second: float, second_interval: Interval | None) -> Interval | None:
    """The interval of second - first for two independent figures of which only values and intervals
    are known: the distances to the near and far ends are combined in quadrature (Newcombe 1998,
    method 10). None where a figure has no interval."""
    if first_interval is None or second_interval is None:
        return None
    down = math.hypot(second - second_interval.low, first_interval.high - first)
    up = math.hypot(second_interval.high - second, first - first_interval.low)
    return Interval(second - first - down, second - first + up)


def welch_difference(first: Sequence[float], second: Sequence[float], level: float = LEVEL) -> Interval | None:
    """Welch's interval of mean(second) - mean(first) for independent samples; None if one has fewer
    than two values.
    """
    if min(len(first), len(second)) < 2:
        return None
    parts = [variance(values) / len(values) for values in (first, second)]
    difference = fmean(second) - fmean(first)
    if not (spread := sum(parts)):
        return Interval(difference, difference)
    freedom = spread**2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (first, second), strict=True))
    half = student(level, max(1, math.floor(freedom))) * math.sqrt(spread)
    return Interval(difference - half, difference + half)


def bootstrap(units: int, statistic: Callable[[Sequence[int]], float], level: float = LEVEL, seed: int = 0) -> Interval | None:
    """Percentile bootstrap: `statistic` of the numbers of units drawn with replacement, each with
    all that it did. None for one unit, which says nothing about others."""
    if units < 2:
        return None
    dice = random.Random(seed)
    values = sorted(statistic([dice.randrange(units) for _ in range(units)]) for _ in range(DRAWS))
    tail = (1 - level) / 2
    return Interval(values[math.floor(tail * DRAWS)], values[math.ceil((1 - tail) * DRAWS) - 1])


#: A figure with its interval, where it has one.
Estimate = tuple[float, Interval | None]


def kendall(left: Sequence[Estimate], right: Sequence[Estimate]) -> float:
    """Kendall's tau-b of two rankings of the same items; NaN if one of them is all ties. Figures
    whose intervals overlap are tied.
    """

    def order(left_figure: Estimate, right_figure: Estimate) -> int:
        if left_figure[1] is not None and right_figure[1] is not None and not separates(left_figure[1], right_figure[1]):
            return 0
        return (left_figure[0] > right_figure[0]) - (left_figure[0] < right_figure[0])

    concordant = discordant = ties_left = ties_right = 0
    for first in range(len(left)):
        for second in range(first + 1, len(left)):
            a, b = order(left[first], left[second]), order(right[first], right[second])
            concordant += a * b > 0
            discordant += a * b < 0
            ties_left += a == 0 and b != 0
            ties_right += b == 0 and a != 0
    decided = concordant + discordant
    scale = math.sqrt((decided + ties_left) * (decided + ties_right))
    return (concordant - discordant) / scale if scale else math.nan


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points that no other beats in both coordinates (less is better), by rising
    first coordinate; of equals, the earliest."""
    front, best = [], math.inf
    for index in sorted(range(len(points)), key=lambda at: (points[at], at)):
        if points[index][1] < best:
            front.append(index)
            best = points[index][1]
    return front


def student(level: float, freedom: int) -> float:
    """The value that Student's t with `freedom` degrees stays within, on both sides, with
    probability `level`; by bisection.
    """
    if freedom > 2000:
        return NormalDist().inv_cdf((1 + level) / 2)
    low, high = 0.0, 1.0
    while _two_sided_probability(high, freedom) < level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _two_sided_probability(middle, freedom) < level else (low, middle)
    return high


def _two_sided_probability(t: float, freedom: int) -> float:
    """P(|T| <= t) by the finite sums of Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, term, total = math.cos(angle), 1.0, 0.0
    if freedom % 2:
        term = cosine
        for k in range(1, freedom - 1, 2):
            total += term
            term *= cosine**2 * (k + 1) / (k + 2)
        return 2 / math.pi * (angle + math.sin(angle) * total)
    for k in range(0, freedom - 1, 2):
        total += term
        term *= cosine**2 * (k + 1) / (k + 2)
    return math.sin(angle) * total
