"""Comparisons of runs: ratios by hand, regressions, refusals, the page."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import browser
import pytest
import sample_replay
from sample_replay import point
from swaplab import BadInput, cli, report
from swaplab.compare import compare


def replayed(*points: dict[str, Any]) -> dict[str, Any]:
    return sample_replay.document() | {"points": list(points)}


def test_ratios_means_and_what_is_missing_by_hand() -> None:
    old = replayed(point("lru", 10, "10p", 0, 0, 100), point("lru", 20, "20p", 0, 0, 10), point("lru", 30, "30p", 0, 0, 1))
    new = replayed(point("lru", 10, "10p", 0, 0, 50), point("lru", 20, "20p", 0, 0, 20), point("fifo", 20, "20p", 0, 0, 5))
    found = compare([("old", old), ("new", new)], fail_above=50)["comparison"]
    times = {row["memory"]: row for row in found["outcomes"] if row["metric"] == "io_time_ns"}
    assert {memory: row["ratio"] for memory, row in times.items()} == {"10 pages": 0.5, "20 pages": 2.0}
    assert [row["regression"] for row in times.values()] == [False, True]
    [mean] = [mean for mean in found["means"] if mean["metric"] == "io_time_ns"]
    assert mean["mean_ratio"] == pytest.approx(1.0) and (mean["low"], mean["high"]) == (0.5, 2.0)
    assert found["missing"] == ["new: no sample · lru at 30 pages"]
    assert compare([("old", old), ("new", new)], baseline="new")["comparison"]["means"][0]["mean_ratio"] == pytest.approx(1.0)


def test_limited_points_do_not_count() -> None:
    old, new = (replayed(point("lru", 10, "10p", 1, 0, n, limited=True), point("lru", 20, "20p", 1, 0, 9)) for n in (1, 100))
    assert compare([("a", old), ("b", new)], fail_above=0)["comparison"]["regressions"] == 0


def test_a_measured_regression_needs_intervals_that_do_not_meet() -> None:
    def measured(mean: float, interval: list[float] | None) -> dict[str, Any]:
        return {
            "schema": 1,
            "schemes": [{"name": "zram", "kind": "measured", "launch_ms": {"mean": mean, "mean_interval": interval}, "kills": 0}],
        }

    def regressions(interval: list[float] | None) -> int:
        runs = [("a", measured(100, [90, 110])), ("b", measured(130, interval))]
        return int(compare(runs, fail_above=10)["comparison"]["regressions"])

    assert (regressions([105, 155]), regressions([111, 150]), regressions(None)) == (0, 1, 1)


def test_refusals() -> None:
    one = replayed(point("lru", 10, "10p", 1, 0, 1))
    for runs, baseline, message in (
        ([("a", one)], None, "expected two or more"),
        ([("a", one), ("a", one)], None, "NAME=RUN"),
        ([("a", one), ("b", one)], "c", "expected one of: a b"),
        ([("a", one), ("b", replayed(point("fifo", 10, "10p", 1, 0, 1)))], None, "no outcome is in both"),
        ([("a", one), ("b", {"schema": 1})], None, "b: nothing to compare"),
    ):
        with pytest.raises(BadInput, match=message):
            compare(runs, baseline)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def swaplab(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["swaplab", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    for name, factor in (("old", 1.0), ("new", 1.2)):
        (tmp_path / f"{name}.json").write_text(json.dumps(sample_replay.document({"clock": factor, "lru": 1.0})))
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    code, said, _ = swaplab("compare", old, new)
    assert code == 0 and "geometric mean" in said and "simulated" in said
    code, said, _ = swaplab("compare", old, f"later={new}", "--fail-above", "5", "--html", tmp_path / "c.html", "--json")
    assert code == 1 and json.loads(said)["comparison"]["regressions"] > 0
    assert "later has" in (tmp_path / "c.html").read_text()
    assert swaplab("compare", new, old, "--fail-above", "5")[0] == 0


@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")
def test_the_page_draws(tmp_path: Path) -> None:
    documents = [(name, sample_replay.document({"clock": factor, "lru": 1.0})) for name, factor in (("old", 1.0), ("new", 1.2))]
    path = tmp_path / "c.html"
    path.write_text(report.page("t", [("c", compare(documents))]))
    with browser.Page(path, width=390) as page:
        assert page.value("document.querySelectorAll('.narrow svg [role=graphics-symbol][aria-label]:not(.role-axis)').length") >= 10
        assert page.value("document.documentElement.scrollWidth") == 390
        assert (page.console, page.requests) == ([], [])
