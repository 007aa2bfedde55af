"""Plans and swap schemes in reports: the choice by hand, the words, the command, the page."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import browser
import pytest
import sample_replay
from sample_replay import point, with_scheme
from swaplab import BadInput, Result, Trace, cli, report
from swaplab.plan import Target, answer, plan

MS = 1_000_000


def document() -> dict[str, Any]:
    """Three sizes, two schemes. Time in ms (file reads, processor): flash 10, 5, 2; zram 4 + 2, 2 + 1, 1 + 0.5, in twice the DRAM."""
    sizes = ((256, 1000, 400), (512, 500, 200), (1024, 200, 100))
    points = []
    for pages, flash, zram in sizes:
        points.append(with_scheme(point("clock", pages, f"{pages}p", 0, 0, flash), "flash", 0, 0, None))
        points.append(with_scheme(point("clock", pages, f"{pages}p", 0, 0, zram), "zram", pages * 4096, zram * 5000))
    return sample_replay.document() | {"points": points}


def test_the_cheapest_that_meets_the_target_by_hand() -> None:
    def chosen(target: Target) -> tuple[str, str] | None:
        found = plan(document(), target, [])["plan"]["answer"]
        return found and (found["scheme"], found["memory"])

    assert chosen(Target(seconds=0.010)) == ("flash", "256p")
    # 2 MiB hold zram at 256 pages (6 ms) and flash at 512 (5 ms): of equal memory, the faster.
    assert chosen(Target(seconds=0.006)) == ("flash", "512p")
    assert chosen(Target(seconds=0.005)) == ("flash", "512p")
    assert chosen(Target(seconds=0.002)) == ("flash", "1024p")
    assert chosen(Target(percent=0)) == ("zram", "1024p")
    assert chosen(Target(seconds=0.001)) is None
    found = plan(document(), Target(percent=100), [])["plan"]
    assert found["least_s"] == pytest.approx(0.0015) and found["target"]["limit_s"] == pytest.approx(0.003)
    # Equal DRAM (2 MiB): flash takes 5 ms, zram 6; of 4 MiB: flash 2, zram 3. zram is on the front only where flash has no point.
    assert [(row["scheme"], row["memory"]) for row in found["front"]] == [
        ("flash", "256p"),
        ("flash", "512p"),
        ("flash", "1024p"),
        ("zram", "1024p"),
    ]


def test_targets() -> None:
    assert Target.parse("0.5s") == Target(seconds=0.5) and Target.parse("10%") == Target(percent=10.0)
    for text in ("", "5", "x%", "-1s", "infs", "nan%"):
        with pytest.raises(BadInput, match="expected seconds"):
            Target.parse(text)


def test_the_answer_in_words() -> None:
    assert answer(plan(document(), Target(seconds=0.005), [])) == "Least DRAM for at most 0.005 s: 2.0 MiB in all (flash at 512p), 0.005 s."
    assert answer(plan(document(), Target(seconds=0.001), [])).startswith("No size and scheme tried stays below 0.001 s; the least")


def test_a_report_of_schemes_says_memory_and_time() -> None:
    [section] = report.sections(document())
    # Geometric mean of 6/10, 3/5 and 1.5/2.
    assert section.verdict == "zram stalls the least at equal frames: 35.4 % less time than the next, flash, with 100.0 % more DRAM in all."
    assert any("zram 4.00 MiB" in line for line in section.evidence)
    assert Result(document()).summary()["policy"].to_list()[0] == "clock · zram"


def test_the_command_on_a_real_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def swaplab(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["swaplab", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    trace = Trace.bundled("djpeg").path
    options = ("--memory", "10%,40%", "--scheme", "flash,zram")
    code, said, _ = swaplab("plan", trace, *options, "--run", tmp_path)
    assert code == 0 and "Least DRAM for at most" in said and "beaten by no other" in said
    code, said, _ = swaplab("plan", trace, *options, "--target", "0s", "--json")
    found = json.loads(said)
    assert code == 0 and found["plan"]["answer"] is None and len(found["points"]) == 4 and found["mrc"]["points"]
    code, _, said = swaplab("plan", trace, "--target", "soon")
    assert code == 2 and said.count("\n") == 1
    if browser.CHROMIUM:
        [page_path] = tmp_path.glob("*-plan/report.html")
        with browser.Page(page_path, width=390) as page:
            assert page.value("document.querySelectorAll('.narrow svg').length") == 3
            marks = "s.querySelectorAll('[role=graphics-symbol][aria-label]:not(.role-axis)').length"
            assert page.value(f"[...document.querySelectorAll('.narrow svg')].every(s => {marks} > 3)")
            assert page.value("document.documentElement.scrollWidth") == 390
            assert (page.console, page.requests) == ([], [])
