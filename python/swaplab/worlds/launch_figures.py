"""Figures of launches: median, 95th percentile, bootstrap intervals that cluster by app. Outliers
are reported and never dropped.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from swaplab.core.model import Classes, LaunchFigures, Spread
from swaplab.core.statistics import quantile

RESAMPLES = 500
#: Upper bounds in ms of the classes of user-perceived launch times (Tolia et al. 2006, as A2S uses
#: them).
FEELS = (("crisp", 150.0), ("noticeable", 1000.0), ("annoying", 2000.0), ("unacceptable", 5000.0), ("unusable", math.inf))

#: (app, milliseconds) of a launch.
Sample = tuple[str, float]


def interval(clusters: dict[str, list[float]], measure: Callable[[list[float]], float], seed: int) -> tuple[float, float] | None:
    """Compute the 95 % percentile bootstrap interval of `measure`, resampling apps with all their
    values; None for fewer than two apps.
    """
    names = sorted(clusters)
    if len(names) < 2:
        return None
    rng = random.Random(seed)
    drawn = [measure([value for name in rng.choices(names, k=len(names)) for value in clusters[name]]) for _ in range(RESAMPLES)]
    return round(quantile(drawn, 0.025), 4), round(quantile(drawn, 0.975), 4)


def by_app(samples: Iterable[Sample]) -> dict[str, list[float]]:
    """Group the milliseconds by app."""
    milliseconds: dict[str, list[float]] = {}
    for app, value in samples:
        milliseconds.setdefault(app, []).append(value)
    return milliseconds


def mean(values: Sequence[float]) -> float:
    """The mean; NaN if there are no values."""
    return sum(values) / len(values) if values else math.nan


def spread(samples: Iterable[Sample], seed: int) -> Spread | None:
    """The distribution of launch times in milliseconds; None if there are no launches."""
    clusters = by_app(samples)
    values = [value for rows in clusters.values() for value in rows]
    if not values:
        return None
    return Spread(
        n=len(values),
        mean=round(mean(values), 4),
        p50=round(quantile(values, 0.5), 4),
        p95=round(quantile(values, 0.95), 4),
        mean_interval=interval(clusters, mean, seed),
        p50_interval=interval(clusters, lambda rows: quantile(rows, 0.5), seed),
        p95_interval=interval(clusters, lambda rows: quantile(rows, 0.95), seed),
    )


def medians(samples: Iterable[Sample]) -> dict[str, float]:
    """The median of each app."""
    return {app: round(median(rows), 4) for app, rows in sorted(by_app(samples).items())}


def outliers(values: Sequence[float]) -> list[float]:
    """Values beyond the third quartile by more than three interquartile ranges."""
    low, high = quantile(values, 0.25), quantile(values, 0.75)
    return sorted(round(value, 3) for value in values if value > high + 3 * (high - low))


def classes(values: Iterable[float], repetitions: int = 1) -> Classes:
    """Count the launch times (ms) in each class of `FEELS`, per repetition."""
    counts = {name: 0 for name, _ in FEELS}
    for value in values:
        counts[next(name for name, bound in FEELS if value <= bound)] += 1
    return Classes(**{name: count / repetitions for name, count in counts.items()})


#: Distributions of a row whose intervals are also in the row's `interval`.
SPREADS = ("delay_ms", "cold_ms", "resume_ms")


def intervals(launches: LaunchFigures) -> dict[str, tuple[float, float]]:
    """Return the intervals of a row's launches by their path in the row."""
    bounds: dict[str, tuple[float, float]] = {}
    for name in SPREADS:
        spread: Spread | None = getattr(launches, name)
        for measure in ("mean", "p50", "p95"):
            if spread is not None and (ends := getattr(spread, f"{measure}_interval")) is not None:
                bounds[f"launches.{name}.{measure}"] = ends
    return bounds
