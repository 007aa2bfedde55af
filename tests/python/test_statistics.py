"""Statistics against published tables and values worked by hand."""

import math

import pytest
from swaplab.core import statistics as stats
from swaplab.core.statistics import Interval


@pytest.mark.parametrize(
    ("level", "freedom", "value"),
    [
        # Two-sided values of a table of Student's t.
        (0.95, 1, 12.7062),
        (0.95, 2, 4.3027),
        (0.95, 10, 2.2281),
        (0.95, 30, 2.0423),
        (0.99, 5, 4.0321),
        (0.95, 7, 2.3646),
        (0.99, 10, 3.1693),
        (0.975, 30, 2.3596),
        (0.5, 5, 0.7267),
        (0.95, 2000, 1.96115),
        # From here on the normal distribution takes its place.
        (0.95, 2001, 1.95996),
        (0.9, 10**6, 1.64485),
    ],
)
def test_students_t_is_that_of_the_tables(level: float, freedom: int, value: float):
    assert stats.student(level, freedom) == pytest.approx(value, abs=6e-5 if freedom < 2000 else 6e-6)


def test_an_interval_needs_two_values():
    assert stats.mean_interval([]) is None and stats.mean_interval([1.0]) is None
    # Mean 1, deviation sqrt 2, over sqrt 2: one times t of a single degree of freedom.
    found = stats.mean_interval([0.0, 2.0])
    assert found is not None and (found.low, found.high) == pytest.approx((1 - 12.7062, 1 + 12.7062), abs=1e-4)


def test_a_quantile_is_the_value_of_the_nearest_rank():
    assert [stats.quantile([4, 1, 3, 2], share) for share in (0, 0.25, 0.26, 0.5, 0.95, 1)] == [1, 1, 2, 2, 4, 4]
    assert math.isnan(stats.quantile([], 0.5))


def test_intervals_that_touch_are_not_separated():
    assert not stats.separates(Interval(0, 1), Interval(1, 2)) and stats.separates(Interval(0, 1), Interval(1.1, 2))
    assert not stats.separates(None, Interval(1, 2))


def test_differences_by_hand() -> None:
    # Differences -10, -12, -8: mean -10, deviation 2, half-width 4.3027 * 2 / sqrt(3).
    found = stats.paired_difference({0: 90, 1: 100, 2: 110}, {0: 80, 1: 88, 2: 102})
    assert found is not None and found.low == pytest.approx(-10 - 4.3027 * 2 / math.sqrt(3), abs=1e-3)
    # The difference of independent figures with half-widths 3 and 4 has half-width 5.
    found = stats.unpaired_difference(10, Interval(7, 13), 20, Interval(16, 24))
    assert found == Interval(5, 15)
    # The far end of one and the near end of the other, 3 and 4 away, are 5 together, on both sides.
    assert stats.unpaired_difference(4, Interval(1, 8), 3, Interval(0, 7)) == Interval(-6, 4)
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
