"""Verdicts: whether a design is better than others, and the sentence that states it. All verdicts
are made here.

A winner is named only if the evidence separates it from every other candidate: by exact figures for
a deterministic replay of one trace; else by the interval of the paired difference if figures of
single seeds are known; else by intervals that do not overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from swaplab.core.statistics import LEVEL, Interval, paired_difference, separates

#: Figures whose relative difference is below this are called equal, even if their difference is
#: significant.
EQUAL = 5e-4


@dataclass(frozen=True)
class Candidate:
    """A design's figure, of which less is better. `by_seed` pairs candidates of one world; `bound`:
    it cannot be chosen.
    """

    name: str
    value: float
    interval: Interval | None = None
    by_seed: Mapping[int, float] = field(default_factory=dict)
    bound: bool = False


@dataclass(frozen=True)
class Verdict:
    """A verdict; `winner` is None if no difference is shown."""

    winner: str | None
    text: str


def percent(ratio: float) -> str:
    """Format a ratio: 0.877 -> '12.3 % less'; 1.02 -> '2.0 % more'; a change below 0.05 % is 'the
    same'.
    """
    change = 100 * (ratio - 1)
    if abs(change) < 0.05:
        return "the same"
    return f"{abs(change):.1f} % {'less' if change < 0 else 'more'}"


def verdict(candidates: Sequence[Candidate], what: str, unit: str = "", exact: bool = False, was_tight: bool | None = None) -> Verdict:
    """Decide which candidate has the lowest `what` (such as 'mean launch delay'), if the evidence
    shows it.

    `exact`: figures are deterministic counts of one workload, for which a difference needs no
    interval. `was_tight`: False if memory was never tight under any design; None if unknown.
    """
    choices = sorted((candidate for candidate in candidates if not candidate.bound), key=lambda candidate: candidate.value)
    if was_tight is False:
        return Verdict(
            None, f"Memory was never tight: nothing was reclaimed and no app was killed, so no difference in {what} is due to swap."
        )
    if not choices:
        return Verdict(None, f"No verdict: no design has a {what} to compare.")
    if len(choices) == 1:
        return Verdict(None, f"Only {choices[0].name} was run: name a second design to compare its {what} with.")
    best, rest = choices[0], choices[1:]
    level = 1 - (1 - LEVEL) / len(rest)
    tied = [candidate for candidate in rest if not is_separated(best, candidate, level, exact)]
    if not tied:
        second = rest[0]
        text = f"{best.name} has the lowest {what}: {amount(best.value, unit)}"
        text += f", {percent(best.value / second.value)} than the next, {second.name}" if second.value > 0 else f", before {second.name}"
        return Verdict(best.name, text + ".")
    names = _names([best, *tied])
    if all(_is_equal(best, candidate) for candidate in tied):
        reason = "their figures are the same"
    elif all(candidate.interval is None and len(candidate.by_seed) < 2 for candidate in [best, *tied]):
        reason = "without intervals, nothing is known about other runs or users"
    else:
        reason = f"intervals overlap at {100 * LEVEL:g} %"
    text = f"No difference in {what} is shown between {names}: {reason}."
    if beaten := [candidate for candidate in rest if candidate not in tied]:
        text += f" {best.name} is lower than {_names(beaten)}."
    return Verdict(None, text)


def _names(candidates: Sequence[Candidate], most: int = 5) -> str:
    """List the candidates' names, separated by semicolons if one of them has a comma."""
    names = [candidate.name for candidate in candidates]
    mark = "; " if any("," in name for name in names) else ", "
    return mark.join(names) if len(names) <= most else f"{mark.join(names[: most - 1])} and {len(names) - most + 1} others"


def is_separated(better: Candidate, worse: Candidate, level: float = LEVEL, exact: bool = False) -> bool:
    """Whether the evidence shows that `better` has less than `worse`."""
    if _is_equal(better, worse):
        return False
    if exact:
        return worse.value > better.value
    paired = paired_difference(better.by_seed, worse.by_seed, level)
    if paired is not None:
        return paired.low > 0
    return better.value < worse.value and separates(better.interval, worse.interval)


def _is_equal(better: Candidate, worse: Candidate) -> bool:
    return abs(worse.value - better.value) <= EQUAL * max(abs(better.value), 1e-30)


def amount(value: float, unit: str = "") -> str:
    """Format a figure with four significant digits, without exponents: `1,235 ms`, `0.5 s`,
    `12 kills`.
    """
    return f"{number(value)} {unit}".rstrip()


def number(value: float, digits: int = 4) -> str:
    """Format a number with `digits` significant digits and thousands separators, without
    exponents.
    """
    if value == 0:
        return "0"
    scientific = f"{abs(value):.{digits - 1}e}"
    decimals = max(0, digits - 1 - int(scientific.split("e")[1]))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def plural(count: float, singular: str, several: str | None = None) -> str:
    """Format a count with its noun: `1 kill`, `2 kills`, `0.5 kills`."""
    return f"{number(count)} {singular if count == 1 else several or singular + 's'}"
