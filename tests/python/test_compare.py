"""Comparisons of runs: ratios by hand, regressions, refusals, comparison of worlds, the page."""

from __future__ import annotations

import re
from pathlib import Path

import browser
import documents as d
import pytest
from swaplab import BadInput, report
from swaplab.analysis.compare import Comparison, compare, conclusion
from swaplab.analysis.readable import parse
from swaplab.analysis.side_by_side import Goal, compare_worlds
from swaplab.analysis.verdict import Verdict
from swaplab.core.model import Document, Row
from swaplab.report.worlds import goal_line


def replayed(*rows: Row) -> Document:
    return d.document(rows, [d.trace_input()])


def at(policy: str, frames: int, reads: int, limited: bool = False) -> Row:
    return d.replayed(policy, frames, f"{frames}p", (0, 0, reads, 0), limited=limited)


def test_ratios_means_and_missing_rows_by_hand() -> None:
    old = replayed(at("lru", 30, 1), at("lru", 10, 100), at("lru", 20, 10))
    new = replayed(at("lru", 10, 50), at("lru", 20, 20), at("fifo", 20, 5))
    found = compare([("old", old), ("new", new)], fail_above=50)
    times = {row.point: row for row in found.outcomes if row.path == "time.io_ns"}
    assert {point: row.ratio for point, row in times.items()} == {"machine.dram = 10p": 0.5, "machine.dram = 20p": 2.0}
    assert [row.regression for row in times.values()] == [False, True]
    [mean] = [mean for mean in found.means if mean.path == "time.io_ns"]
    assert mean.mean_ratio == pytest.approx(1.0) and (mean.low, mean.high, mean.separated) == (0.5, 2.0, 2)
    assert found.missing == ["new: no replay · sample · lru · machine.dram = 30p"]
    assert parse("c.json", found.model_dump_json()) == found


def test_a_figure_that_one_run_lacks_is_not_compared() -> None:
    known, unknown = (replayed(d.replayed("lru", 10, "10p", (1, 0, 1, 0), joules=joules)) for joules in (0.5, None))
    for old, new in ((known, unknown), (unknown, known)):
        paths = {row.path for row in compare([("old", old), ("new", new)]).outcomes}
        assert "time.io_ns" in paths and not any(path.startswith("energy") for path in paths)


def test_limited_points_do_not_count() -> None:
    old, new = (replayed(at("lru", 10, n, limited=True), at("lru", 20, 9)) for n in (1, 100))
    assert compare([("a", old), ("b", new)], fail_above=0).regressions == 0


def test_a_measured_regression_needs_separated_intervals() -> None:
    def compared(half: float | None) -> Comparison:
        return compare(
            [("a", d.document([d.kernel_row("zram", 100, 10)])), ("b", d.document([d.kernel_row("zram", 130, half)]))], fail_above=10
        )

    def regressions(half: float | None) -> int:
        return sum(row.regression for row in compared(half).outcomes if row.path == "launches.delay_ms.mean")

    assert (regressions(25), regressions(19), regressions(None)) == (0, 1, 1)
    text = "No difference in mean launch delay is shown between b and a: intervals overlap, or figures are equal."
    assert conclusion(compared(25)) == Verdict(None, text)
    runs = [("a", 100.0, 10.0), ("b", 130.0, 25.0), ("c", 130.0, 19.0)]
    three = compare([(name, d.document([d.kernel_row("zram", mean, half)])) for name, mean, half in runs])
    assert conclusion(three).text == text[:-1] + "; c has 30.0 % more mean launch delay than a (separated in 1 of 1 rows)."
    assert conclusion(compared(19)) == Verdict("a", "b has 30.0 % more mean launch delay than a (separated in 1 of 1 rows).")


def test_refusals() -> None:
    one = replayed(at("lru", 10, 1))
    for runs, baseline, message in (
        ([("a", one)], None, "expected two or more"),
        ([("a", one), ("a", one)], None, "NAME=RUN"),
        ([("a", one), ("b", one)], "c", "expected one of: a b"),
        ([("a", one), ("b", replayed(at("fifo", 10, 1)))], None, "no row is in both"),
    ):
        with pytest.raises(BadInput, match=message):
            compare(runs, baseline)
    for text, message in (("{", "Invalid JSON"), ("[1]", "expected a document"), ('{"document": "cake"}', "cake"), ("{}", "no 'schema'")):
        with pytest.raises(BadInput, match=message) as refused:
            parse("x.json", text)
        assert str(refused.value).startswith("x.json: ") and "\n" not in str(refused.value)


@pytest.mark.parametrize("is_count", [False, True])
@pytest.mark.parametrize(("pairs", "idle"), [(0, 3), (2, 0), (2, 3)])
def test_no_sentence_about_a_goal_has_a_blank(pairs: int, idle: int, is_count: bool) -> None:
    """Where nothing was judged there is no median and no largest difference to print."""
    known = 0.125 if pairs else None
    goal = Goal(
        world="phone",
        path="launches.kills",
        what="kills",
        within=1 if is_count else 0.1,
        is_count=is_count,
        pairs=pairs,
        met=0,
        idle=idle,
        median=known,
        largest=known,
    )
    text = goal_line(goal)
    assert ("median difference" in text) == bool(pairs) and "None" not in text
    assert re.search(r"(difference|largest|within|,) *[,.;]", text) is None, text


def test_worlds_side_by_side_by_hand() -> None:
    """Differences are shares of the measured figures; those of kills are counts."""

    def row(world: str, design: str, moved: tuple[float, float], kills: float, delay: float | None) -> Row:
        paging = {"swap_in_bytes": moved[0] * d.MIB, "swap_out_bytes": moved[1] * d.MIB}
        launched = d.launches(100, kills=kills, resume=delay)
        build = d.kernel_row if world == "kernel" else lambda name, mean, **changes: d.phone_row(name, [mean], **changes)
        return build(design, 100.0, paging=paging, launches=launched)

    measured = [row("kernel", "none", (0, 0), 5, None), row("kernel", "zram", (10, 20), 2, 10), row("kernel", "flash", (10, 20), 0, 20)]
    modeled = [row("phone", "none", (0, 0), 6, None), row("phone", "zram", (11, 15), 4, 11), row("phone", "flash", (10, 20), 0, 30)]
    found = compare_worlds([*modeled, *measured])
    assert found is not None and found.reference == "kernel" and found.missing == []
    pairs = {(pair.design, pair.path): pair for pair in found.pairs}
    back, out, kills, delay = (goal.path for goal in found.goals)
    assert pairs["none", back].idle and pairs["none", back].met is None, "two zeros agree in nothing"
    assert pairs["none", kills].met and ("none", delay) not in pairs
    assert pairs["zram", back].relative == pytest.approx(0.1) and pairs["zram", back].difference == pytest.approx(1)
    assert pairs["zram", out].relative == -0.25 and pairs["zram", out].met is False
    assert pairs["zram", kills].difference == 2 and pairs["zram", kills].met is False and pairs["flash", delay].relative == 0.5
    assert [(goal.met, goal.pairs) for goal in found.goals] == [(2, 2), (1, 2), (1, 2), (1, 2)]
    assert [goal.idle for goal in found.goals] == [1, 1, 1, 0], "flash: no kill in either world"
    assert found.rankings[0].tau == 1  # flash is slower than zram in both
    assert compare_worlds(measured) is None
    # Only one of the worlds has a delay: the pair is shown and not judged. One kill is judged.
    found = compare_worlds([row("kernel", "x", (0, 0), 1, 10), row("phone", "x", (0, 0), 0, None)])
    assert found is not None
    pairs = {(pair.design, pair.path): pair for pair in found.pairs}
    assert (pairs["x", delay].other.value, pairs["x", delay].met) == (None, None)
    assert (pairs["x", kills].idle, pairs["x", kills].met) == (False, True)
    # 32 pages of 4 KiB are an eighth of a MiB; one page more is judged.
    batch = [row(world, "zram", (size * 4096 / d.MIB, 1), 0, None) for world in ("kernel", "phone") for size in (32, 33)]
    found = compare_worlds([batch[0], batch[2]]), compare_worlds([batch[1], batch[3]])
    assert [one.pairs[0].idle for one in found if one is not None] == [True, False]
    fewer = compare_worlds([*measured, modeled[0]])
    assert fewer is not None and fewer.missing == ["phone: no zram", "phone: no flash"]


def test_a_difference_between_worlds_is_unpaired() -> None:
    found = compare_worlds([d.kernel_row("zram", 100, 3), d.phone_row("zram", [120.0, 120.0], half=4.0)])
    assert found is not None
    [pair] = [one for one in found.pairs if one.path == "launches.delay_ms.mean"]
    assert pair.difference == 20 and pair.interval == (15, 25)


@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")
def test_the_pages_are_drawn(tmp_path: Path) -> None:
    runs = [(name, d.replay_document({"clock": factor, "lru": 1.0})) for name, factor in (("old", 1.0), ("new", 1.2))]
    worlds = d.document([d.kernel_row("zram", 30), d.kernel_row("none", 50), d.phone_row("zram", [40.0, 41], half=2.0)], machine=d.HOST)
    path = tmp_path / "c.html"
    path.write_text(report.page([("c", compare(runs)), ("w", worlds)]))
    with browser.Page(path, width=390) as page:
        for figure in ("c-ratio", "w-worlds-worlds"):
            marks = f"document.querySelectorAll('#{figure} .narrow svg [role=graphics-symbol][aria-label]:not(.role-axis)').length"
            assert page.value(marks) >= 5, figure
        assert page.value("document.documentElement.scrollWidth") == 390
        text = page.value("document.body.textContent")
        assert "kernel (measured)" in text and "phone (simulated)" in text and "Example CPU" in text and "virtio disk vda" in text
        assert (page.console, page.requests) == ([], [])
