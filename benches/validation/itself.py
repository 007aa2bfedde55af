"""The kernel under its other seeds as the predictor in place of the phone: how far a perfect model
would get by the same measures. What it misses is the kernel's own spread at this number of guests.

Only means and intervals of a design are stored, so its single values are taken as normally
distributed. The spread over sizes of memory is then part of the noise, though kernel and predictor
have the same sizes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import NormalDist, fmean

from swaplab.core.statistics import LEVEL, Estimate, quantile, student

from benches.validation.draw import SEEDS, SIZES
from benches.validation.nulls import least_error
from benches.validation.result import Result
from benches.validation.verdicts import Contest, estimate, tau

#: How often the kernel is drawn again.
DRAWS = 400


def expected_skill(results: Sequence[Result]) -> float:
    """Compute the expected number of designs with swap-ins in which the kernel's other seeds would
    predict the first seed's swap-ins with at most half of the better null predictor's error.
    """
    return math.fsum(_chance(of) for of in results if not math.isnan(of.skill))


def _chance(of: Result) -> float:
    judged = of.judged[0]
    allowed = least_error(judged.kernel, of.nulls) / 2
    # The half-width of A against A is a share of the kernel's figure, or of its floor.
    error = judged.noise * max(judged.kernel, judged.figure.floor) / student(LEVEL, len(SIZES) - 1)
    return 2 * NormalDist(0, error).cdf(allowed) - 1 if error else 1.0


def expected_tau(contests: Sequence[Contest]) -> tuple[float, float, float]:
    """Draw each design's values twice from the kernel's mean and spread, as the kernel and as its
    predictor. Returns the mean of Kendall's tau-b and the bounds of 95 % of the draws; NaN if all
    pairs are ties.
    """
    dice = random.Random(0)
    values = len(SIZES) * SEEDS

    def draw(of: Estimate, count: int) -> Estimate:
        mean, interval = of
        assert interval is not None, "a design has at least two values"
        spread = (interval.high - interval.low) / 2 * math.sqrt(values) / student(LEVEL, values - 1)
        return estimate([dice.gauss(mean, spread) for _ in range(count)])

    taus = [
        tau([(draw(a, values), draw(b, values), draw(a, len(SIZES)), draw(b, len(SIZES))) for a, b, _, _ in contests]) for _ in range(DRAWS)
    ]
    defined = [value for value in taus if not math.isnan(value)]
    return (fmean(defined), quantile(defined, 0.025), quantile(defined, 0.975)) if defined else (math.nan, math.nan, math.nan)
