"""The result of one design of a configuration."""

from __future__ import annotations

import math
from dataclasses import dataclass

from swaplab.core.statistics import Estimate

from benches.validation.draw import Drawn
from benches.validation.nulls import skill
from benches.validation.verdicts import Judged


@dataclass(frozen=True)
class Result:
    """The result of one design of a configuration; `delays` of kernel and phone over all seeds,
    `nulls`: the two null predictions.
    """

    drawn: Drawn
    scheme: str
    judged: list[Judged]
    delays: tuple[Estimate, Estimate]
    nulls: tuple[float, float]

    @property
    def skill(self) -> float:
        """The phone's error in swap-ins as a share of the better null predictor's; NaN if nothing
        is swapped in.
        """
        of = self.judged[0]
        return math.nan if of.verdict == "nothing" else skill(of.kernel, of.phone, self.nulls)
