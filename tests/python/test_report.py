"""The report of a replay: its numbers by hand, its verdicts, its files, and the page as a browser shows it."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import browser
import polars as pl
import pytest
import sample_replay
from sample_replay import point
from swaplab import BadInput, cli, report
from swaplab.report.relative import baseline_of, points_frame, relative, standings
from swaplab.run_folder import read_run, write_folder, write_run

needs_chromium = pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")


@pytest.fixture
def swaplab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """The command in this process: its exit code and what it said on stderr."""

    def run(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["swaplab", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), capsys.readouterr().err

    return run


def two_policies(**second: Any) -> dict[str, Any]:
    """CLOCK: 10 swap reads and 10 file reads; the other: 5 swap reads, 10 file reads, 1 file write."""
    points = [point("clock", 100, "10%", 10, 0, 10), point("other", 100, "10%", 5, 0, 10, 1)]
    return sample_replay.document() | {"points": points} | second


def test_ratios_by_hand() -> None:
    rows = relative(points_frame(two_policies()), "clock")
    other = rows.row(by_predicate=pl.col("policy") == "other", named=True)
    assert other["ratio"] == pytest.approx((5 * 5263 + 100_000 + 14_286) / (10 * 5263 + 100_000))
    assert other["fig4_ratio"] == pytest.approx((5 * 5263 + 100_000) / (10 * 5263 + 100_000))  # the paper leaves file writes out
    assert other["fig4_swap_read"] == pytest.approx(5 * 5263 / 152_630)
    assert other["fig4_swap_write"] == 0


def test_the_mean_of_twice_and_half_is_one() -> None:
    points = [point("clock", m, f"{m}p", 0, 0, n) for m, n in ((1, 10), (2, 40))] + [point("x", m, f"{m}p", 0, 0, 20) for m in (1, 2)]
    standing = {one.policy: one for one in standings(relative(points_frame(sample_replay.document() | {"points": points}), "clock"))}
    assert standing["x"].mean == pytest.approx(1.0)
    assert (standing["x"].low, standing["x"].high, standing["x"].wins) == (0.5, 2.0, 1)


def test_limited_points_and_missing_sizes_do_not_count() -> None:
    document = sample_replay.document({"clock": 1.0, "good": 0.5, "part": 0.1}, limited=(5, 10))
    document["points"] = [p for p in document["points"] if (p["policy"], p["memory"]) != ("part", "25%")]
    rows = relative(points_frame(document), "clock")
    assert [one.policy for one in standings(rows)] == ["good", "clock"]
    [section] = report.sections(document)
    assert section.verdict.startswith("good costs the least I/O") and "over 3 memory sizes, 15% to 25%" in section.evidence[0]
    assert any("5%, 10%" in line and "left out" in line for line in section.evidence)


def test_verdicts() -> None:
    def verdict(document: dict[str, Any]) -> str:
        return report.sections(document)[0].verdict

    assert "less I/O time than clock" in verdict(sample_replay.document())
    assert verdict(sample_replay.document({"clock": 1.0, "bad": 2.0})).startswith("clock costs the least I/O")
    assert verdict(sample_replay.document({"clock": 1.0, "opt": 0.1})).startswith("Only clock was replayed")
    assert (
        verdict(sample_replay.document(limited=(5, 10, 15, 20, 25))) == "No verdict: every memory size is below the trace's filter limit."
    )
    assert "did no I/O" in verdict(
        sample_replay.document() | {"points": [point("clock", 9, "9p", 0, 0, 0), point("lru", 9, "9p", 0, 0, 0)]}
    )


def test_the_baseline_is_clock_or_the_one_asked_for() -> None:
    frame = points_frame(sample_replay.document({"lru": 1.0, "clock": 1.1}))
    assert (baseline_of(frame), baseline_of(frame, "lru")) == ("clock", "lru")
    with pytest.raises(BadInput, match="expected one of: lru clock"):
        baseline_of(frame, "mru")


def schemes(**changed: Any) -> dict[str, Any]:
    """Two schemes as `bench` and `sim` print them; `changed` replaces keys of the second."""

    def row(name: str, mean: float) -> dict[str, Any]:
        times = {"mean": mean, "p50": mean, "p95": 2 * mean, "mean_interval": [mean - 10, mean + 10], "p50_interval": None}
        moved = {"swap_in_bytes": 1 << 20, "swap_out_bytes": 2 << 20, "nvm_write_bytes": 0, "flash_write_bytes": 0}
        feel = dict.fromkeys(("crisp", "noticeable", "annoying", "unacceptable", "unusable"), 2)
        memory = {"dram_bytes": 1 << 30, "pool_bytes": 0}
        return {
            "name": name,
            "launch_ms": times,
            "switch_ms": None,
            "kills": 3,
            **moved,
            "ux": feel,
            "energy_j": {"io": 1.0, "total": 1.0},
            "memory": memory,
        }

    return {"schema": 1, "kind": "measured", "schemes": [row("flash", 200), row("zram", 100) | changed]}


def test_schemes_of_the_phone_and_the_kernel() -> None:
    [section] = report.sections(schemes())
    assert section.verdict == "zram launches fastest: 100 ms in the mean, 50.0 % less than the next, flash."
    assert [figure.key for figure in section.figures] == ["run-times", "run-ux", "run-bytes", "run-energy"]
    assert section.kind == "measured" and "flash: memory dram 1024 MiB." in section.evidence
    near = {"mean": 195, "p50": 195, "p95": 300, "mean_interval": [185, 205]}
    assert report.sections(schemes(launch_ms=near))[0].verdict.endswith("Their 95 % intervals overlap: no difference is shown.")
    [section] = report.sections(schemes(kind="emulated"))
    assert "zram (emulated)" in section.verdict and "upper bound" in section.evidence[0]
    assert [figure.key for figure in report.sections(schemes(launch_ms=None, ux=None, energy_j=None))[0].figures][0] == "run-times"
    assert report.page("t", [("a", schemes())]).count("<svg") == 8


def test_a_run_folder_is_whole_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    pages = [write_run(sample_replay.document(), "Demo run", tmp_path) for _ in range(2)]
    assert pages[0].parent != pages[1].parent and re.fullmatch(r"\d{8}T\d{6}Z-demo-run(-2)?", pages[0].parent.name)
    files = [{file.name: file.read_bytes() for file in page.parent.iterdir()} for page in pages]
    assert files[0] == files[1] and set(files[0]) == {"manifest.json", "summary.json", "report.html"}
    assert not list(tmp_path.glob(".*"))
    manifest = json.loads(files[0]["manifest.json"])
    assert manifest["kind"] == "simulated" and manifest["inputs"][0]["content_hash"] == "blake3:0123abcd"
    assert manifest["devices"]["optane-m10"]["write_ns"] == 28571 and manifest["experiment"][0]["memory_pages"][0] == 410
    assert read_run(pages[0].parent) == sample_replay.document()


def test_a_folder_that_cannot_be_written_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write_folder({"a": "fine", "no/such/place": "fails"}, "broken", tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="expected a folder"):
        write_run(sample_replay.document(), "x", tmp_path / "file")


def test_the_page_names_no_outside_place_and_carries_its_data() -> None:
    html = report.page("t", [("a", sample_replay.document()), ("a", sample_replay.document({"clock": 1, "lru": 2}))])
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", html)
    assert set(re.findall(r"https?://[^\"'\s<]+", html)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids)) and {"a", "a-2"} <= set(ids)
    link = re.search(r'download="a-io-time.csv" href="data:text/csv;charset=utf-8;base64,([^"]+)"', html)
    assert link
    table = pl.read_csv(base64.b64decode(link[1]))
    assert table.height == 40 and table.filter(policy="clock")["fig4_ratio"].to_list() == [1.0] * 5


def test_a_name_with_markup_stays_text() -> None:
    document = sample_replay.document()
    document["trace"]["name"] = "<script>alert(1)</script>"
    assert "<script>alert" not in report.page("<b>", [("x", document)])


def test_the_command_draws_runs_and_refuses_what_is_none(swaplab: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    source = tmp_path / "x.json"
    source.write_text(json.dumps(sample_replay.document()))
    assert swaplab("report", source, "--static") == (0, "")
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "x-io-time.png").read_bytes().startswith(b"\x89PNG") and (tmp_path / "x-miss-ratio.svg").read_text().startswith(
        "<svg"
    )
    bad = {
        "missing.json": (None, "expected a run folder"),
        "text.json": ("{", "line 1"),
        "bytes.json": (b"\xff", "byte 0: not UTF-8"),
        "list.json": ("[1]", "no 'schema': 1"),
        "other.json": ('{"schema": 1}', "nothing here a report can show"),
        "part.json": ('{"schema": 1, "points": [{"policy": "a", "io_time_ns": 1}]}', "points[0] has no 'faults'"),
    }
    for name, (content, message) in bad.items():
        if content is not None:
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        code, said = swaplab("report", tmp_path / name, "--html", tmp_path / "bad.html")
        assert code == 2 and message in said and said.count("\n") == 1, (name, said)
    assert not (tmp_path / "bad.html").exists() and not list(tmp_path.glob(".*"))


@needs_chromium
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    document = sample_replay.document(limited=(5,))
    document["mrc"] = {"points": [{"memory_pages": m, "miss_ratio": 4 / m} for m in range(400, 2000, 100)]}
    path = write_run(document, "demo", tmp_path)
    with browser.Page(path) as page:
        assert page.value("document.querySelector('.badge strong').textContent") == "simulated"
        assert page.value("document.querySelector('.verdict').getBoundingClientRect().top < 400")
        marks = "f.querySelectorAll('.wide svg [role=graphics-symbol][aria-label]:not(.role-axis)').length"
        bars, dots = page.value(f"[...document.querySelectorAll('figure')].map(f => {marks})")
        assert bars >= 8 * 5 * 3 and dots >= 8 * 5
        sizes = page.value("[...document.querySelectorAll('.wide svg')].map(s => [s.clientWidth, s.clientHeight])")
        assert all(width > 600 and height > 100 for width, height in sizes)
        page.value("document.querySelector('figure').focus()")
        page.press("ArrowRight")
        assert re.search(r"(swap|file) (read|write) [\d.]+ of [\d.]+ in all", page.value("document.getElementById('tip').textContent"))
        page.press("Escape")
        assert page.value("document.getElementById('tip').hidden")
        light = page.value("getComputedStyle(document.body).backgroundColor")
        page.value("document.getElementById('theme').click()")
        assert page.value("getComputedStyle(document.body).backgroundColor") != light
        assert page.pdf().startswith(b"%PDF")
        assert (page.console, page.requests) == ([], [])
    with browser.Page(path, width=390, dark=True) as page:
        assert page.value("document.documentElement.scrollWidth") == 390
        assert page.value("getComputedStyle(document.querySelector('.wide')).display") == "none"
        assert page.value("document.querySelector('.narrow svg').getBoundingClientRect().height") > 300
        assert (page.console, page.requests) == ([], [])
