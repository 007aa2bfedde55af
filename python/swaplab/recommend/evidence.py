"""How sure a difference is: paired differences by unit, with Student's interval.

Pairing removes what users differ in. Two options are separated where the interval of their mean difference does not hold 0.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

#: Fewer units than this say nothing of others.
FEWEST = 3


@dataclass(frozen=True)
class Effect:
    """Change of an outcome in percent of the baseline's mean (in its own unit where that is 0), its interval, and units behind it."""

    outcome: str
    percent: float | None
    low: float | None
    high: float | None
    n: int
    absolute: bool = False

    @property
    def better(self) -> bool:
        return self.high is not None and self.high < 0

    @property
    def worse(self) -> bool:
        return self.low is not None and self.low > 0

    def document(self) -> dict[str, Any]:
        return asdict(self) | {"separated": self.better or self.worse}

    def said(self, words: str) -> str:
        unit = "" if self.absolute else " %"
        if self.percent is None:
            return f"{words}: in no unit of both"
        if self.low is None or self.high is None:
            return f"{words} {self.percent:+.1f}{unit} (n = {self.n}: too few for an interval)"
        return f"{words} {self.percent:+.1f}{unit} ({self.low:+.1f} to {self.high:+.1f}, n = {self.n})"


def effect(outcome: str, pairs: dict[str, list[tuple[float, float]]], level: float) -> Effect:
    """Change from first to second of each pair. `pairs`: by unit; several of one unit (in different surroundings) count as one, averaged.
    `level`: of the interval, such as 0.95.
    """
    if not pairs:
        return Effect(outcome, None, None, None, 0)
    before = fmean(fmean(first for first, _ in found) for found in pairs.values())
    scale = 100 / before if before else 1.0
    changes = [scale * fmean(second - first for first, second in found) for found in pairs.values()]
    mean, n = fmean(changes), len(changes)
    if n < FEWEST:
        return Effect(outcome, mean, None, None, n, not before)
    half = student(level, n - 1) * stdev(changes) / math.sqrt(n)
    return Effect(outcome, mean, mean - half, mean + half, n, not before)


def student(level: float, freedom: int) -> float:
    """The value that Student's t with `freedom` degrees stays within, on both sides, with probability `level`; by bisection."""
    low, high = 0.0, 1.0
    while _within(high, freedom) < level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < level else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
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
