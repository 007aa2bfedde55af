"""Verdicts on the agreement of phone and kernel: equivalence by paired seeds, with the kernel's own
spread (A against A) as a control.

Margins were fixed before the first draw: 10 % of traffic, refaults, scan ratio and kswapd's share,
15 % of the median delay, 1 kill.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from swaplab.core.statistics import Estimate, Interval, kendall, mean_interval, separates

Verdict = Literal["equivalent", "different", "undecided", "nothing"]
#: Pages up to which relative errors are not judged: one batch of reclaim.
BATCH = 32
PAGE = 4096


@dataclass(frozen=True)
class Figure:
    """A compared figure.

    `margin`: a share of the kernel's figure, absolute if `counts`; None: shown, not judged.
    `floor`: if neither has more than this, there is nothing to compare.
    """

    name: str
    unit: str
    margin: float | None
    counts: bool = False
    floor: float = 0.0


FIGURES = (
    Figure("swap-ins", "pages", 0.10, floor=BATCH),
    Figure("swap-outs", "pages", 0.10, floor=BATCH),
    Figure("anon refaults", "pages", 0.10, floor=BATCH),
    Figure("file refaults", "pages", 0.10, floor=BATCH),
    Figure("scan ratio", "scanned/reclaimed", 0.10),
    Figure("kswapd share", "of reclaimed", 0.10),
    Figure("kills", "", 1.0, counts=True),
    Figure("median delay", "ms", 0.15),
    Figure("p95 delay", "ms", None),
)


@dataclass(frozen=True)
class Judged:
    """The judgment on a figure of one design.

    `error`, `half` (half-width of its interval) and `noise` (half-width of A against A) are shares
    of the kernel's figure, absolute for counts.
    """

    figure: Figure
    kernel: float
    phone: float
    error: float
    half: float
    noise: float
    verdict: Verdict


def figures(of: Mapping[str, float]) -> dict[str, float]:
    """Compute the compared figures of one seed from the row's paths; a ratio with denominator 0 is
    NaN.
    """

    def paging(name: str) -> float:
        return of.get(f"paging.{name}", 0.0)

    reclaimed = paging("reclaimed_pages")
    return {
        "swap-ins": paging("swap_in_bytes") / PAGE,
        "swap-outs": paging("swap_out_bytes") / PAGE,
        "anon refaults": paging("anon_refaults"),
        "file refaults": paging("file_refaults"),
        "scan ratio": paging("scanned_pages") / reclaimed if reclaimed else math.nan,
        "kswapd share": 1 - paging("reclaimed_direct_pages") / reclaimed if reclaimed else math.nan,
        "kills": of["launches.kills"],
        "median delay": of["launches.delay_ms.p50"],
        "p95 delay": of["launches.delay_ms.p95"],
    }


def judge(figure: Figure, kernel: Sequence[float], other_seeds: Sequence[float], phone: Sequence[float]) -> Judged:
    """Judge the phone's values against the kernel's, paired by position; `other_seeds` are the
    kernel's under other seeds.
    """
    reference, ours = fmean(kernel), fmean(phone)
    # If the kernel's figure is below the floor, the error is a share of the floor.
    scale = 1.0 if figure.counts else max(reference, figure.floor)
    if any(map(math.isnan, (*kernel, *other_seeds, *phone))) or max(reference, ours) <= figure.floor or not scale:
        return Judged(figure, reference, ours, math.nan, math.nan, math.nan, "nothing")
    difference = mean_interval([b - a for a, b in zip(kernel, phone, strict=True)])
    same = mean_interval([b - a for a, b in zip(kernel, other_seeds, strict=True)])
    assert difference is not None and same is not None, "at least two pairs"
    half, noise = ((interval.high - interval.low) / 2 / scale for interval in (difference, same))
    error = (ours - reference) / scale
    return Judged(figure, reference, ours, error, half, noise, _verdict(figure.margin, error, half, noise))


def _verdict(margin: float | None, error: float, half: float, noise: float) -> Verdict:
    """Judge by the interval: equivalent if it is within the margin, different if it is outside,
    else undecided.

    It is also undecided if the kernel's own spread exceeds a third of the margin.
    """
    if margin is None:
        return "nothing"
    if noise > margin / 3:
        return "undecided"
    if abs(error) + half <= margin:
        return "equivalent"
    return "different" if abs(error) - half > margin else "undecided"


#: Estimates of two designs of a configuration, under the kernel and on the phone.
Contest = tuple[Estimate, Estimate, Estimate, Estimate]


def contested(kernel: tuple[Estimate, Estimate]) -> bool:
    """Whether the designs are separated under the kernel, and differ by less than 20 % of the
    slower one.
    """
    (one, first), (other, second) = kernel
    return separates(first, second) and abs(one - other) < 0.2 * max(one, other)


def tau(contests: Sequence[Contest]) -> float:
    """Compute Kendall's tau-b over pairs of designs of one configuration; pairs with overlapping
    intervals are tied. NaN if all are.
    """
    signs = [(kendall([a, b], [a, b]), kendall([c, d], [c, d]), kendall([a, b], [c, d])) for a, b, c, d in contests]
    kernel, phone = (sum(not math.isnan(sign[at]) for sign in signs) for at in (0, 1))
    agreed = sum(sign[2] for sign in signs if not math.isnan(sign[2]))
    return agreed / math.sqrt(kernel * phone) if kernel and phone else math.nan


def estimate(values: Sequence[float]) -> Estimate:
    """Compute the mean over seeds with its interval."""
    return fmean(values), mean_interval(values) or Interval(values[0], values[0])
