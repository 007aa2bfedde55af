"""The statistics of `make validation` on cases worked by hand, without a guest."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from swaplab._core import size_bytes
from swaplab.core.errors import BadInput
from swaplab.core.statistics import Interval, student

from benches.validation import page, store
from benches.validation.draw import LEAST, MIB, SEEDS, SIZES, Drawn, DrawnApp, draw, experiment_of, guest_bytes, recorded_order, working_set
from benches.validation.facts import Facts, Own, OwnWork
from benches.validation.itself import expected_skill, expected_tau
from benches.validation.nulls import skill, stack_distance, touched
from benches.validation.prices import Prices
from benches.validation.result import Result
from benches.validation.verdicts import FIGURES, Contest, Figure, contested, figures, judge, tau

TRAFFIC = Figure("traffic", "pages", 0.10, floor=32)
KILLS = Figure("kills", "", 1.0, counts=True)
#: Student's t of two degrees of freedom.
T = 4.3027
FACTS = Facts(reserved_base=8 * MIB, reserved_section=2 * MIB, used_base=16 * MIB, used_share=0.01, app_bytes=0.5 * MIB)


def test_a_close_phone_on_a_steady_kernel_is_equivalent() -> None:
    # Differences 40, 50, 60: mean 50 of 1000, deviation 10, half-width T x 10 / sqrt(3) = 24.8:
    # from 2.5 % to 7.5 %.
    found = judge(TRAFFIC, [990, 1000, 1010], [991, 1001, 1011], [1030, 1050, 1070])
    assert found.error == pytest.approx(0.05)
    assert found.half == pytest.approx(T * 10 / math.sqrt(3) / 1000, rel=1e-4)
    assert (found.noise, found.verdict) == (pytest.approx(0), "equivalent")


def test_an_interval_beyond_the_margin_is_different_and_one_across_it_undecided() -> None:
    kernel, again = [1000.0] * 3, [1000.0] * 3
    assert judge(TRAFFIC, kernel, again, [1190, 1200, 1210]).verdict == "different"
    assert judge(TRAFFIC, kernel, again, [790, 800, 810]).verdict == "different"
    # 9 % +- 2.5 % crosses the margin.
    assert judge(TRAFFIC, kernel, again, [1080, 1090, 1100]).verdict == "undecided"


def test_a_kernel_that_differs_from_itself_decides_nothing() -> None:
    # A against A: -20, 0, 20, half-width T x 20 / sqrt(3) = 49.7 of 1000, above a third of 10 %.
    found = judge(TRAFFIC, [1000] * 3, [980, 1000, 1020], [1000] * 3)
    assert found.noise == pytest.approx(T * 20 / math.sqrt(3) / 1000, rel=1e-4)
    assert (found.error, found.verdict) == (0, "undecided")


def test_kills_are_counts_and_an_idle_kernel_is_not_agreement() -> None:
    assert judge(KILLS, [4, 4, 4], [4, 4, 4], [5, 5, 5]).verdict == "equivalent"
    assert judge(KILLS, [4, 4, 4], [4, 4, 4], [6, 6, 6]).verdict == "different"
    assert judge(KILLS, [0] * 3, [0] * 3, [0] * 3).verdict == "nothing"
    assert judge(TRAFFIC, [0, 0, 0], [0, 0, 0], [32, 32, 32]).verdict == "nothing"
    # The phone swaps and the kernel does not, which is not agreement.
    assert judge(TRAFFIC, [0, 0, 0], [0, 0, 0], [500, 510, 520]).verdict == "different"


def test_figures_of_a_seed() -> None:
    paging = {"swap_in_bytes": 8192.0, "scanned_pages": 300.0, "reclaimed_pages": 100.0, "reclaimed_direct_pages": 25.0}
    of = {f"paging.{name}": value for name, value in paging.items()}
    found = figures(of | {"launches.kills": 2, "launches.delay_ms.p50": 5.0, "launches.delay_ms.p95": 9.0})
    assert (found["swap-ins"], found["scan ratio"], found["kswapd share"], found["kills"]) == (2, 3, 0.75, 2)
    assert set(found) == {figure.name for figure in FIGURES}
    assert math.isnan(figures({"launches.kills": 0, "launches.delay_ms.p50": 5.0, "launches.delay_ms.p95": 9.0})["scan ratio"])


def test_tau_ties_overlapping_intervals() -> None:
    def at(value: float, half: float = 1) -> tuple[float, Interval]:
        return value, Interval(value - half, value + half)

    agree, oppose, tie = (at(10), at(20), at(11), at(19)), (at(10), at(20), at(19), at(11)), (at(10), at(20), at(11), at(12))
    assert tau([agree, agree]) == 1
    assert tau([agree, oppose]) == 0
    # One of two pairs is tied on the phone alone: 1 / sqrt(2 x 1).
    assert tau([agree, tie]) == pytest.approx(1 / math.sqrt(2))
    assert math.isnan(tau([(at(1), at(2), at(1), at(2))]))
    assert contested((at(100), at(110)))
    assert not contested((at(100), at(130)))
    assert not contested((at(100), at(101)))


def drawn(order: tuple[str, ...]) -> Drawn:
    # 4 MiB, a quarter of files, half hot: 384 hot and 384 cold anonymous pages, 128 hot and 128
    # cold file pages.
    apps = tuple(DrawnApp(name, 4, 0.25, 0.5, 0.3, 1) for name in ("a", "b"))
    return Drawn("d", apps, 192 * MIB, 1.0, 60, "off", ("zram:size=96MiB",), order, "generated")


def test_null_predictors() -> None:
    of = drawn(("a", "b"))
    assert touched(of) == 2 * 384
    # Everything fits in 2048 frames. With 1024, the second round's `a` has its own cold blocks, b's
    # four and its own hot ones behind it.
    assert stack_distance(of, 2048) == 0
    assert stack_distance(of, 1024) == 2 * 384
    assert skill(1000, 1100, (0, 600)) == 0.25
    assert math.isnan(skill(1000, 1100, (1000, 0)))


def test_the_kernel_as_its_own_predictor() -> None:
    # A against A has no spread: the other seed is always right. With a standard error of 100 pages,
    # 50 of which are allowed, P(|N(0, 1)| < 0.5) = 0.383.
    still = judge(FIGURES[0], [1000] * 6, [1000] * 6, [1100] * 6)
    loud = replace(still, noise=student(0.95, 5) * 100 / 1000)
    results = [Result(drawn(("a", "b")), "zram", [of], ((1, None), (1, None)), (0, 900)) for of in (still, loud)]
    assert expected_skill(results) == pytest.approx(1.383, abs=1e-3)

    def pair(half: float) -> Contest:
        one, other = ((mean, Interval(mean - half, mean + half)) for mean in (10, 20))
        return one, other, one, other

    assert expected_tau([pair(0.1)] * 3) == (1, 1, 1)
    # The predictor has half of the values, so that more of its pairs overlap: no tau-b of 1.
    mean, low, high = expected_tau([pair(3.5)] * 20)
    assert 0 < low < mean < high < 1
    assert all(map(math.isnan, expected_tau([])))


def test_memory_of_a_guest() -> None:
    apps = drawn(("a", "b")).apps
    assert working_set(apps) == 6 * MIB
    # Two sections of 128 MiB: (200 + 8 + 2 x 2 + 16 + 2 x 0.5) / 0.99 = 231.3 MiB.
    assert guest_bytes(200 * MIB, FACTS, 2) == 232 * MIB


def test_draws_are_reproducible_and_valid_experiments() -> None:
    one = draw("abc", 3, FACTS, [])
    assert one == draw("abc", 3, FACTS, []) != draw("abd", 3, FACTS, [])
    # Each size has its own memory and seeds.
    sizes = [experiment_of(size, FACTS, "debian-6.12") for size in one.sizes()]
    assert [size_bytes("dram", of.machine.dram) - one.dram for of in sizes] == [size * MIB for size in SIZES]
    assert len({of.run.seed + seed for of in sizes for seed in range(SEEDS)}) == len(SIZES) * SEEDS
    own = Own(work={app.name: OwnWork(cold_ns=5e6, resume_ns=2e6) for app in one.apps}, used_bytes=18.5 * MIB)
    of = experiment_of(one, FACTS, "debian-6.12", own)
    assert len(of.design) == 2 and of.run.on == ["phone", "vm"]
    assert size_bytes("kernel_reserved", of.machine.kernel_reserved) == 18.5 * MIB
    assert all(0.2 <= app.file_share <= 0.6 for app in one.apps) and 0.85 <= one.memory_factor <= 1.15
    # The memory is the drawn share of the working set: what would need less than a guest's least
    # memory is drawn again.
    for number in range(40):
        of_number = draw("abc", number, FACTS, [])
        assert min(size.dram for size in of_number.sizes()) >= LEAST * MIB
        assert of_number.dram == guest_bytes(of_number.memory_factor * working_set(of_number.apps), FACTS, len(of_number.apps))


def test_launches_of_a_recording(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("seq,app\n" + "".join(f"{at},{'xyz'[at % 3]}\n" for at in range(13)))
    assert recorded_order(table, ["a", "b", "c"], random.Random(1)) == tuple("abc"[at % 3] for at in range(13))
    table.write_text("seq,name\n1,x\n")
    with pytest.raises(BadInput, match="no column 'app'"):
        recorded_order(table, ["a"], random.Random(1))


def test_results_of_several_runs_are_kept_and_shown_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FOLDER", tmp_path / "results")
    prices = Prices(scan_ns=1, swap_in_ns=2, block_request_ns=3, compress_ns=4, decompress_ns=5, anon_out_ns=6, file_out_ns=7, file_in_ns=8)

    def results(number: int) -> list[Result]:
        drawn = draw("a" * 40, number, FACTS, [])
        kernel = [1000.0, 1010.0, 990.0]
        judged = [judge(figure, kernel, kernel, [value * 1.02 for value in kernel]) for figure in FIGURES]
        judged[1] = judge(FIGURES[1], [math.nan] * 3, [math.nan] * 3, [1.0] * 3)
        delays = ((10.0, Interval(9.0, 11.0)), (12.0, Interval(11.0, 13.0)))
        return [Result(drawn, scheme, judged, delays, (500.0, 2000.0)) for scheme in drawn.schemes]

    first = store.Stored(commit="a" * 40, kernel="debian-6.12", mglru=False, recorded=False, facts=FACTS, prices=prices)
    first.add(results(1))
    again = store.read(first.path)
    assert again is not None
    again.add(results(0))
    both = store.read(first.path)
    assert both is not None and both.numbers == {0, 1} and [r.drawn.name[-1] for r in both.results] == ["0", "0", "1", "1"]
    assert both.results[2] == first.results[0] or math.isnan(first.results[0].judged[1].kernel)
    text = page.text([both, both.model_copy(update={"mglru": True})])
    assert "2 configurations, 4 designs" in text and "## Held out: with MGLRU" in text and "### aaaaaaaa-0 with MGLRU" in text
    assert "| swap-ins | 4 | 0 | 0 | 0 |" in text
    # Each phone is 2 % above its kernel.
    assert "| swap-ins | 4 | 1.02 (1.02 to 1.02) | 2 % | 1.02 (1.02 to 1.02) |" in text and "within 1 in\n0 of 4 designs" in text
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(BadInput, match="expected a file that it wrote"):
        store.read(tmp_path / "broken.json")
