"""From visits to numbers: median, 95th percentile, bootstrap intervals that cluster by app, outliers shown and never dropped."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

RESAMPLES = 500
#: Upper bounds in ms of how a launch feels (Tolia et al. 2006, as A2S uses them).
FEELS = (("crisp", 150.0), ("noticeable", 1000.0), ("annoying", 2000.0), ("unacceptable", 5000.0), ("unusable", math.inf))


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile by linear interpolation; NaN of nothing."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def interval(clusters: dict[str, list[float]], measure: Callable[[list[float]], float], seed: int) -> list[float] | None:
    """95 % percentile bootstrap of `measure`, apps drawn with all their values; nothing for fewer than two apps."""
    names = sorted(clusters)
    if len(names) < 2:
        return None
    dice = random.Random(seed)
    drawn = [measure([value for name in dice.choices(names, k=len(names)) for value in clusters[name]]) for _ in range(RESAMPLES)]
    return [round(quantile(drawn, 0.025), 4), round(quantile(drawn, 0.975), 4)]


def times(samples: Iterable[tuple[str, float]], seed: int) -> dict[str, Any] | None:
    """Milliseconds of (app, ms) samples, summed up; None when there are none."""
    clusters: dict[str, list[float]] = {}
    for app, value in samples:
        clusters.setdefault(app, []).append(value)
    values = [value for rows in clusters.values() for value in rows]
    if not values:
        return None
    low, high = quantile(values, 0.25), quantile(values, 0.75)
    return {
        "n": len(values),
        "apps": len(clusters),
        "mean": round(sum(values) / len(values), 4),
        "p50": round(quantile(values, 0.5), 4),
        "p95": round(quantile(values, 0.95), 4),
        "p50_interval": interval(clusters, lambda rows: quantile(rows, 0.5), seed),
        "p95_interval": interval(clusters, lambda rows: quantile(rows, 0.95), seed),
        "mean_interval": interval(clusters, lambda rows: sum(rows) / len(rows), seed),
        "outliers": sorted(round(value, 3) for value in values if value > high + 3 * (high - low)),
        "by_app": {app: round(quantile(rows, 0.5), 4) for app, rows in sorted(clusters.items())},
    }


def classes(values: Iterable[float]) -> dict[str, int]:
    """How many of these milliseconds feel how."""
    counts = {name: 0 for name, _ in FEELS}
    for value in values:
        counts[next(name for name, bound in FEELS if value <= bound)] += 1
    return counts


def kendall(left: Sequence[float], right: Sequence[float]) -> float:
    """Kendall's tau-b of two rankings; NaN where one of them is all ties."""
    concordant = discordant = ties_left = ties_right = 0
    for first in range(len(left)):
        for second in range(first + 1, len(left)):
            a, b = left[first] - left[second], right[first] - right[second]
            concordant += a * b > 0
            discordant += a * b < 0
            ties_left += a == 0 and b != 0
            ties_right += b == 0 and a != 0
    decided = concordant + discordant
    scale = math.sqrt((decided + ties_left) * (decided + ties_right))
    return (concordant - discordant) / scale if scale else math.nan
