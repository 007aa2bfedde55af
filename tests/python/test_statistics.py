"""Statistics against published tables and values worked by hand."""

import math

import pytest
from swaplab.core import statistics
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
        (0.5, 5, 0.7267),
        (0.95, 2000, 1.96115),
        # From here on the normal distribution takes its place.
        (0.95, 2001, 1.95996),
        (0.9, 10**6, 1.64485),
    ],
)
def test_students_t_is_that_of_the_tables(level: float, freedom: int, value: float):
    assert statistics.student(level, freedom) == pytest.approx(value, abs=6e-5 if freedom < 2000 else 6e-6)


def test_an_interval_needs_two_values():
    assert statistics.mean_interval([]) is None and statistics.mean_interval([1.0]) is None
    # Mean 1, deviation sqrt 2, over sqrt 2: one times t of a single degree of freedom.
    found = statistics.mean_interval([0.0, 2.0])
    assert found is not None and (found.low, found.high) == pytest.approx((1 - 12.7062, 1 + 12.7062), abs=1e-4)


def test_a_quantile_is_the_value_of_the_nearest_rank():
    assert [statistics.quantile([4, 1, 3, 2], share) for share in (0, 0.25, 0.26, 0.5, 0.95, 1)] == [1, 1, 2, 2, 4, 4]
    assert math.isnan(statistics.quantile([], 0.5))


def test_intervals_that_touch_are_not_separated():
    assert not statistics.separates(Interval(0, 1), Interval(1, 2)) and statistics.separates(Interval(0, 1), Interval(1.1, 2))
    assert not statistics.separates(None, Interval(1, 2))
