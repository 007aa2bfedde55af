"""Verdicts: a winner only if the evidence separates it; intervals against tables, differences by
hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import documents as d
import pytest
from hypothesis import given
from hypothesis import strategies as st
from swaplab.analysis.outcomes import figure, judge
from swaplab.analysis.verdict import Candidate, number, percent, plural, verdict
from swaplab.core import statistics as stats
from swaplab.core.model import Time
from swaplab.core.statistics import Interval


def test_student_against_its_table() -> None:
    for level, freedom, value in ((0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 7, 2.365), (0.99, 10, 3.169), (0.975, 30, 2.360)):
        assert stats.student(level, freedom) == pytest.approx(value, abs=6e-4)


def test_differences_by_hand() -> None:
    # Differences -10, -12, -8: mean -10, deviation 2, half-width 4.3027 * 2 / sqrt(3).
    found = stats.paired_difference({0: 90, 1: 100, 2: 110}, {0: 80, 1: 88, 2: 102})
    assert found is not None and found.low == pytest.approx(-10 - 4.3027 * 2 / math.sqrt(3), abs=1e-3)
    # The difference of independent figures with half-widths 3 and 4 has half-width 5.
    found = stats.unpaired_difference(10, Interval(7, 13), 20, Interval(16, 24))
    assert found == Interval(5, 15)
    assert stats.unpaired_difference(10, None, 20, Interval(16, 24)) is None
    welch = stats.welch_difference([1.0, 2, 3], [11.0, 12, 13])
    # Equal variances of 1 with n = 3 each: standard error sqrt(2 / 3), 4 degrees of freedom.
    assert welch is not None and welch.high == pytest.approx(10 + 2.7764 * math.sqrt(2 / 3), abs=1e-3)
    assert stats.mean_interval([5.0]) is None and stats.bootstrap(1, lambda drawn: 0.0) is None
    assert stats.bootstrap(2, lambda drawn: sum(10.0 * one for one in drawn) / 2) == Interval(0, 10)


def test_kendall_and_the_front_by_hand() -> None:
    def bare(*values: float) -> list[stats.Estimate]:
        return [(value, None) for value in values]

    assert stats.kendall(bare(1, 2, 3), bare(1, 3, 2)) == pytest.approx(1 / 3) and math.isnan(stats.kendall(bare(1, 1), bare(1, 2)))
    # One pair is tied on one side, and in the last list another one on both: tau-b by its formula.
    assert stats.kendall(bare(1, 2, 3), bare(1, 1, 2)) == stats.kendall(bare(1, 1, 2), bare(1, 2, 3)) == pytest.approx(2 / 6**0.5)
    assert stats.kendall(bare(3, 2, 1), bare(1, 1, 2)) == stats.kendall(bare(1, 1, 2), bare(3, 2, 1)) == pytest.approx(-2 / 6**0.5)
    assert stats.kendall(bare(1, 2, 3, 3), bare(1, 1, 2, 2)) == pytest.approx(4 / 20**0.5)
    near = [(1.0, stats.Interval(0.5, 1.6)), (1.5, stats.Interval(1.4, 2)), (3.0, stats.Interval(2.9, 3.1))]
    # Of three pairs the first is tied by its intervals; the other ranking reverses the last two.
    assert stats.kendall(near, bare(1, 3, 2)) == pytest.approx(0) and stats.kendall(near, bare(2, 1, 3)) == pytest.approx(2 / 6**0.5)
    assert stats.pareto([(1, 5), (2, 5), (2, 3), (1, 4), (3, 3)]) == [3, 2]
    assert stats.geometric_mean([2.0, 0.5]) == pytest.approx(1)


def test_no_winner_without_evidence() -> None:
    def verdict_of(*candidates: Candidate, **known: bool | None) -> tuple[str | None, str]:
        found = verdict(candidates, "mean launch delay", "ms", **known)  # type: ignore[arg-type]
        return found.winner, found.text

    fast, slow = Candidate("fast", 100, Interval(90, 110)), Candidate("slow", 200, Interval(190, 210))
    assert verdict_of(fast, slow) == ("fast", "fast has the lowest mean launch delay: 100 ms, 50.0 % less than the next, slow.")
    near = Candidate("near", 105, Interval(95, 115))
    winner, text = verdict_of(fast, near, slow)
    assert winner is None and text == (
        "No difference in mean launch delay is shown between fast, near: intervals overlap at 95 %. fast is lower than slow."
    )
    commas = [Candidate("zram, lz4", 100, Interval(90, 110)), Candidate("zram, zstd", 105, Interval(95, 115))]
    assert "between zram, lz4; zram, zstd: intervals overlap" in verdict_of(*commas)[1]
    # One seed each is no evidence about others, even with a large difference.
    winner, text = verdict_of(Candidate("a", 1), Candidate("b", 100))
    assert winner is None and "nothing is known about other runs or users" in text
    assert verdict_of(fast, slow, was_tight=False)[0] is None and "never tight" in verdict_of(fast, slow, was_tight=False)[1]
    assert "name a second design" in verdict_of(fast)[1] and verdict_of() == (
        None,
        "No verdict: no design has a mean launch delay to compare.",
    )
    assert verdict_of(Candidate("x", 1), Candidate("y", 2), exact=True)[0] == "x"
    assert "the same" in verdict_of(Candidate("x", 1), Candidate("y", 1), exact=True)[1]
    assert verdict_of(Candidate("bound", 0.5, bound=True), Candidate("x", 1), Candidate("y", 2), exact=True)[0] == "x"


def test_seeds_pair_designs_of_one_world() -> None:
    """Users differ more than designs, but each user is 10 ms faster: intervals overlap, and the
    paired difference excludes 0.
    """
    users = [100.0, 200, 300, 400]
    rows = [d.phone_row("a", users, half=120.0), d.phone_row("b", [one - 10 + at % 2 for at, one in enumerate(users)], half=120.0)]
    assert judge(rows).winner == "b"
    # Seeds of a recorded user draw app sizes; they are not other users, and the world gives no
    # interval.
    assert judge([d.phone_row("a", users), d.phone_row("b", [one - 10 for one in users])]).winner is None


def test_equal_rows_have_no_winner() -> None:
    """Designs with equal rows, as of a launch list on 4 GiB, must not have a winner."""
    rows = [d.phone_row(name, [200.0], is_tight=False, kills=0, paging=d.CALM) for name in ("none", "zram", "A2S")]
    found = judge(rows)
    assert found.winner is None and "never tight" in found.text
    rows = [d.phone_row(name, [200.0, 210, 190], half=10.0) for name in ("none", "zram", "A2S")]
    assert judge(rows).winner is None and "No difference" in judge(rows).text


def test_a_bootstrap_leaves_a_fortieth_of_its_draws_on_each_side() -> None:
    """Of 500 draws, 12.5 are a fortieth: the 13th from both ends."""
    drawn: list[float] = []

    def spread(units: Sequence[int]) -> float:
        drawn.append(sum(math.sqrt(unit + 2) for unit in units))
        return drawn[-1]

    found = stats.bootstrap(40, spread)
    assert found is not None and len(set(drawn)) == stats.DRAWS
    assert sum(value < found.low for value in drawn) == sum(value > found.high for value in drawn) == 12


def test_a_replay_waits_for_its_operations_and_their_processor_time() -> None:
    row = d.replayed("lru", 10, "10%", (2, 1, 0, 0), cpu_ns=500)
    assert figure(row, "time.stall_ns") == 2 * 5263 + 28571 + 500
    assert figure(row.model_copy(update={"time": row.time.model_copy(update={"stall_ns": 7.0})}), "time.stall_ns") == 7.0
    assert figure(row.model_copy(update={"time": Time()}), "time.stall_ns") is None
    assert figure(d.phone_row("a", [1.0]), "time.stall_ns") is None


def test_kinds_are_not_ranked_with_each_other() -> None:
    rows = [d.kernel_row("a", 50), d.kernel_row("b", 30), d.kernel_row("c", 10, kind="emulated")]
    found = judge(rows)
    assert found.winner is None and found.text.startswith("Measured: b has the lowest") and "Emulated: Only c" in found.text


@given(st.lists(st.floats(0.1, 1e6), min_size=2, max_size=6), st.floats(0, 1e3))
def test_a_winner_is_always_below_every_other_interval(values: list[float], half: float) -> None:
    candidates = [Candidate(str(at), value, Interval(value - half, value + half)) for at, value in enumerate(values)]
    found = verdict(candidates, "delay")
    if found.winner is not None:
        best = candidates[int(found.winner)]
        assert all(best.interval.high < one.interval.low for one in candidates if one is not best)  # type: ignore[union-attr]


def test_numbers_are_never_in_exponents() -> None:
    shown = [number(value) for value in (12_350.0, 0, 1234.5678, 0.000123456, 1e9, -5)]
    assert shown == ["12,350", "0", "1,235", "0.0001235", "1,000,000,000", "-5"]
    assert (plural(1, "kill"), plural(2, "kill"), plural(0.5, "kill")) == ("1 kill", "2 kills", "0.5 kills")
    assert (percent(0.877), percent(1.02), percent(1.0002)) == ("12.3 % less", "2.0 % more", "the same")
