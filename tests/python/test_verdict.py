"""Verdicts: a winner only if the evidence separates it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import documents as d
from hypothesis import given
from hypothesis import strategies as st
from swaplab.analysis.outcomes import BY_PATH, figure, judge
from swaplab.analysis.verdict import Candidate, is_separated, number, percent, plural, verdict
from swaplab.core import statistics as stats
from swaplab.core.model import Time
from swaplab.core.statistics import Interval


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
    assert not is_separated(Candidate("y", 2), Candidate("x", 1), exact=True)
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


def test_a_column_has_words_and_unit() -> None:
    assert [BY_PATH[path].title for path in ("launches.delay_ms.mean", "launches.kills")] == ["Mean launch delay, ms", "Kills"]


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
    # A number that is rounded up to the next power of ten has a decimal less.
    assert [number(value) for value in (9.996, 9.9996, 0.09996)] == ["9.996", "10", "0.09996"]
    assert (plural(1, "kill"), plural(2, "kill"), plural(0.5, "kill")) == ("1 kill", "2 kills", "0.5 kills")
    assert (percent(0.877), percent(1.02), percent(1.0002)) == ("12.3 % less", "2.0 % more", "the same")


def test_differences_that_are_small_but_in_every_seed_are_evidence() -> None:
    # Differences of 0.4, 0.5 and 0.6: mean 0.5, half-width 4.3027 * 0.1 / sqrt(3) = 0.25.
    better, worse = (dict(enumerate(values)) for values in ((10.0, 20.0, 30.0), (10.4, 20.5, 30.6)))
    wide = Interval(0, 50)
    assert is_separated(Candidate("a", 20, wide, better), Candidate("b", 20.5, wide, worse))
    assert not is_separated(Candidate("b", 20.5, wide, worse), Candidate("a", 20, wide, better))


def test_more_candidates_need_more_evidence() -> None:
    # Differences of 2, 3 and 4: mean 3, half-width 4.3027 / sqrt(3) = 2.5 at 95 %. Of two
    # comparisons each has 97.5 %: 6.2053 / sqrt(3) = 3.6.
    wide = Interval(0, 200)
    a, b, far = (
        Candidate(name, mean, wide, dict(enumerate(values)))
        for name, mean, values in (("a", 20, (10, 20, 30)), ("b", 23, (12, 23, 34)), ("far", 120, (110, 120, 130)))
    )
    assert verdict([a, b], "delay").winner == "a"
    found = verdict([a, b, far], "delay")
    assert found.winner is None and found.text.endswith("intervals overlap at 95 %. a is lower than far.")
