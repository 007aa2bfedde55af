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
from swaplab.plan_launches import Asked, parse_prices, plan_launches

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


def launched(times: dict[str, float]) -> dict[str, Any]:
    """A `sim` document of swap schemes by name, each with its mean launch time in ms; zram fills half its area."""
    described, rows = [], []
    for name, ms in times.items():
        key, _, size = name.partition(" ")
        area = 0 if key == "no" else int(size.removesuffix("MiB")) << 20
        described.append({"name": name, "swap": f"{key}:size={size}" if area else "none"})
        row = {"name": name, "launch_ms": {"mean": ms, "p50": ms, "p95": 2 * ms}, "cold_starts": ms / 10, "kills": 3, "seconds": 43_200}
        row |= {"nvm_write_bytes": 0, "flash_write_bytes": 1 << 20, "energy_j": {"total": 1.0}, "seeds": []}
        row["memory"] = {"frames_bytes": 1 << 30, "dram_total_bytes": (1 << 30) + (area // 2 if key == "zram" else 0)}
        rows.append(row)
    return {"schema": 1, "kind": "simulated", "experiment": {"seed": 0, "sim": {"seeds": 4, "schemes": described}}, "schemes": rows}


def test_the_cheapest_swap_for_launches_by_hand() -> None:
    asked = Asked(["zram", "nvm-direct"], ["128MiB"], {"dram": 1.0, "nvm": 0.25, "flash": 0.0})
    times = {
        "no swap": 200.0,
        "zram 128MiB": 120.0,
        "zram 512MiB": 100.0,
        "nvm-direct 128MiB": 110.0,
        "nvm-direct 512MiB": 105.0,
        "flash 512MiB": 190.0,
    }
    reuse = {"cold_starts_by_live_apps": [10, 6, 3]}

    def planned(target: Target) -> dict[str, Any]:
        return plan_launches(launched(times), target, asked, reuse)

    # zram pays 64 and 256 MiB, NVM a quarter of its area, flash nothing.
    chosen = {target: planned(Target.parse(target))["plan"]["answer"] for target in ("0.3s", "0.12s", "0.105s", "0.1s", "0.05s")}
    names = {target: row and row["name"] for target, row in chosen.items()}
    assert names == {
        "0.3s": "flash 512MiB",
        "0.12s": "nvm-direct 128MiB",
        "0.105s": "nvm-direct 512MiB",
        "0.1s": "zram 512MiB",
        "0.05s": None,
    }
    found = planned(Target(percent=10))
    assert [row["name"] for row in found["plan"]["front"]] == ["flash 512MiB", "nvm-direct 128MiB", "nvm-direct 512MiB", "zram 512MiB"]
    assert found["mrc"]["points"] == [
        {"live_apps": 0, "miss_ratio": 1.0},
        {"live_apps": 1, "miss_ratio": 0.6},
        {"live_apps": 2, "miss_ratio": 0.3},
    ]
    assert found["plan"]["answer"]["flash_write_bytes_a_day"] == 2 << 20
    [section] = report.sections(found)
    assert (
        section.verdict.startswith("Cheapest for launches of at most 110 ms in the mean: nvm-direct 128MiB")
        and "zram 512MiB" in section.verdict
    )
    assert len(section.figures) >= 3 and report.page("plan", [("plan", found)])
    for price in ("dram", "gold=1", "nvm=-1", "nvm=x"):
        with pytest.raises(BadInput, match="--price"):
            parse_prices(price)
    with pytest.raises(BadInput, match="no scheme whose size"):
        Asked(["none"], ["1MiB"], {})


APPS = Path(__file__).parents[3] / "shared" / "data" / "apps" / "apps256_medium_vh2.csv"


@pytest.mark.skipif(not APPS.is_file(), reason="the recorded launch sequences (../shared/data) are not here")
def test_a_real_users_launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--swap", "64MiB,512MiB", "--scheme", "zram,nvm-direct", "--seeds", "1", "--target", "20%", "--run", str(tmp_path), "--json"]
    monkeypatch.setattr(sys, "argv", ["swaplab", "plan", str(APPS), *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said, _ = capsys.readouterr()
    found = json.loads(said)
    assert ended.value.code in (0, None) and len(found["plan"]["sizes"]) == 5 and found["plan"]["answer"]
    sizes = {row["name"]: row for row in found["plan"]["sizes"]}
    assert sizes["no swap"]["price_mib"] == 0 and sizes["nvm-direct 512MiB"]["nvm_bytes"] == 512 << 20
    # Every launch is cold where no app stays alive; each app's first launch is cold where all do.
    curve = [point["miss_ratio"] for point in found["mrc"]["points"]]
    assert curve[0] == 1 and curve == sorted(curve, reverse=True) and curve[-1] == pytest.approx((len(curve) - 1) / 256)
    assert list(tmp_path.glob("*-plan/report.html"))
