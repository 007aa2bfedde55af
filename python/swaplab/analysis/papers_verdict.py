"""How a measured figure becomes the verdict of a paper's claim. The rule is generic: it reads band,
no effect, figure, interval and n.

A claim has a band, which is the range of the published figures. If it claims a direction, it also
has `none`, the value that means no effect: 0 for a gain, 1 for a ratio, 0.5 for a share of cases
that could go either way. A figure has an interval, or a number n of programs or users, or neither
if it does not depend on a sample.

0. There is nothing to compare (n is 0): `not-testable`.
1. The direction is *established* if the interval does not contain `none` and n, where it is given,
   is at least FEWEST.
2. Inside the band: `met`. Where `met` is `reproduced` or `ordering` and the direction is not
   established, `sign-only`.
3. Outside the band: `missed`, if the claim names one. `differs`, if the figure is not on the band's
   side of `none`, or if the measure says that the order does not hold. `ordering`, if the direction
   is established and the ratio of our effect (the distance from `none`) to that of the nearest end
   of the band is at most FACTOR, either way. Else `sign-only`: the mean has the claimed sign, and
   nothing more is shown.
4. A claim without `none` has no size to compare outside its band: `sign-only` if the measure says
   that the order holds, else `differs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from swaplab.core.statistics import Interval

Judged = Literal["reproduced", "ordering", "sign-only", "differs", "not-testable", "arithmetic", "premise-built", "internally-inconsistent"]
#: Fewer programs or users than this establish no direction: all of four on one side come by chance
#: in one of sixteen cases, over 5 %.
FEWEST = 5
#: The largest ratio between our effect and the published one, either way, at which our figure has
#: the claimed order.
FACTOR = 3.0


@dataclass(frozen=True)
class Measured:
    """Our figure and how to print it. `ordered`: whether the claimed order holds, where the figure
    alone does not say. `interval`: 95 %, over programs or users. `n`: how many programs or users,
    where there is no interval."""

    value: float
    text: str
    ordered: bool | None = None
    interval: Interval | None = None
    n: int | None = None


def verdict(band: tuple[float, float], none: float | None, met: Judged, missed: Judged | None, measured: Measured) -> Judged:
    """The verdict of a figure, by the rule above."""
    if measured.n == 0:
        return "not-testable"
    low, high = band
    established = _is_established(band, none, measured)
    if low <= measured.value <= high:
        return "sign-only" if met in ("reproduced", "ordering") and not established else met
    if missed is not None:
        return missed
    if measured.ordered is False:
        return "differs"
    if none is None:
        return "sign-only" if measured.ordered else "differs"
    side = _side(band, none)
    if side * (measured.value - none) <= 0:
        return "differs"
    return "ordering" if established and _is_comparable(band, none, measured.value) else "sign-only"


def _side(band: tuple[float, float], none: float) -> int:
    """1 if the whole band is above no effect, -1 if below, 0 if no effect is in it."""
    return (band[0] > none) - (band[1] < none)


def _is_established(band: tuple[float, float], none: float | None, measured: Measured) -> bool:
    if measured.n is not None and measured.n < FEWEST:
        return False
    if none is None or measured.interval is None or _side(band, none) == 0:
        return True
    return not measured.interval.low <= none <= measured.interval.high


def _is_comparable(band: tuple[float, float], none: float, value: float) -> bool:
    nearest = min(max(value, band[0]), band[1])
    ours, theirs = abs(value - none), abs(nearest - none)
    return ours <= FACTOR * theirs and theirs <= FACTOR * ours
