"""The typed result of `recommend`, for `--json` and the report."""

from __future__ import annotations

from typing import Literal

from swaplab.core.bases import StrictModel
from swaplab.core.model import Kind


class Effect(StrictModel):
    """The change of an outcome with its interval, in percent of the reference's mean, or in the
    outcome's unit if that is 0 (`absolute`).

    `n` is the number of units; `low` and `high` are None if there are too few of them for an
    interval.
    """

    path: str
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

    @property
    def separated(self) -> bool:
        return self.better or self.worse

    @property
    def is_zero(self) -> bool:
        """Whether the outcome is the same in every unit."""
        return self.percent == self.low == self.high == 0

    def text(self, words: str) -> str:
        """Format the effect: `launch time -10.0 % (-12.1 to -7.9, n = 6)`."""
        unit = "" if self.absolute else " %"
        if self.percent is None:
            return f"{words}: no unit has it in both options"
        if self.low is None or self.high is None:
            return f"{words} {self.percent:+.1f}{unit} (n = {self.n}: too few for an interval)"
        if self.is_zero:
            return f"{words} unchanged (n = {self.n})"
        return f"{words} {self.percent:+.1f}{unit} ({self.low:+.1f} to {self.high:+.1f}, n = {self.n})"


class ValueEffects(StrictModel):
    value: str
    effects: list[Effect]


class SettingAdvice(StrictModel):
    """The advice on a setting.

    `now`: the baseline's value, None if it has no such setting. `reference`: the value that the
    others are compared with. `keep`: whether the evidence speaks for the present value; False if
    it is not decided, too.
    """

    name: str
    set_by: str
    now: str | None
    reference: str | None
    recommended: str | None
    keep: bool
    why: str
    values: list[ValueEffects]

    def has_no_effect(self, path: str) -> bool:
        """Whether every tried value leaves the outcome at `path` as it is, in every unit."""
        aimed = [effect for value in self.values for effect in value.effects if effect.path == path]
        return bool(aimed) and all(effect.is_zero for effect in aimed)


class CombinedEffects(StrictModel):
    """The effects of all recommended settings together, from a run that tried them."""

    option: str
    effects: list[Effect]


class Recommendation(StrictModel):
    """The recommended settings. `goal`: path of the outcome to lower. Intervals hold at
    `confidence` for all `comparisons` together.
    """

    document: Literal["recommendation"] = "recommendation"
    kind: Kind
    goal: str
    confidence: float
    comparisons: int
    baseline: str
    options: int
    units: list[str]
    settings: list[SettingAdvice]
    together: CombinedEffects | None
    diff: str
    warnings: list[str]

    @property
    def without_effect(self) -> list[str]:
        """The settings that leave the goal as it is, by name."""
        return [setting.name for setting in self.settings if setting.has_no_effect(self.goal)]
