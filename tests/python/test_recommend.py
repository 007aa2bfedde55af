"""Recommendations: Student's interval against its tables, effects by hand, no recommendation without evidence, the command, the page."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from swaplab import BadInput, Trace, cli, report
from swaplab.recommend import recommend
from swaplab.recommend.evidence import effect, student
from swaplab.recommend.knobs import of_phone, of_policy, of_swap

PHONE = {
    "dram_mib": 1536.0,
    "policy": "active-inactive",
    "extra_free_kb": 24300,
    "killer": {
        "style": "minfree",
        "minfree_kb": [73728, 184320],
        "adj": [0, 900],
        "psi_partial_stall_ms": 70,
        "psi_complete_stall_ms": 700,
        "swap_free_low_percentage": 10,
        "thrashing_limit": 100,
    },
}


def simulated(schemes: dict[str, tuple[str, list[float]]], **phone: Any) -> dict[str, Any]:
    """A document of `swaplab sim`: scheme -> its swap, and each seed's mean launch time."""
    rows, described = [], []
    for name, (swap, times) in schemes.items():
        described.append({"name": name, "swap": swap, "app_policy": "none"})
        seeds = [{"seed": at, "launch_ms": ms, "kills": 0, "flash_write_bytes": 100 * at} for at, ms in enumerate(times)]
        rows.append({"name": name, "swap": swap, "seeds": seeds, "memory": {"dram_total_bytes": 1000}})
    sim = {"launches": "large", "phone": copy.deepcopy(PHONE) | phone, "apps": {}, "schemes": described}
    return {"schema": 1, "kind": "simulated", "experiment": {"seed": 0, "sim": sim}, "schemes": rows}


def test_students_t_is_that_of_the_tables() -> None:
    for level, freedom, value in ((0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 7, 2.365), (0.99, 10, 3.169), (0.975, 30, 2.360)):
        assert student(level, freedom) == pytest.approx(value, abs=6e-4)


def test_an_effect_by_hand() -> None:
    # Changes of -10, -12, -8 where the mean before is 100: mean -10, deviation 2, half-width 4.3027 * 2 / sqrt(3).
    found = effect("launch_ms", {"a": [(90, 80)], "b": [(100, 88)], "c": [(110, 102)]}, 0.95)
    assert (found.percent, found.n, found.better) == (pytest.approx(-10), 3, True)
    assert found.high == pytest.approx(-10 + 4.3027 * 2 / 3**0.5, abs=1e-3)
    # Two sizes of one user are one witness.
    assert effect("x", {"a": [(90, 80), (90, 80)]}, 0.95).n == 1
    assert effect("x", {}, 0.95).percent is None
    # Of nothing there is no percentage.
    assert effect("kills", {u: [(0, 2)] for u in "abc"}, 0.95).absolute


def test_settings_have_the_names_of_kernel_and_android() -> None:
    settings, _ = of_phone(PHONE)
    assert settings["vm.swappiness"] == "60" and settings["vm.extra_free_kbytes"] == "24300"
    assert settings["sys.lmk.minfree_levels"] == "18432:0,46080:900" and "ro.lmk.thrashing_limit" not in settings
    psi, _ = of_phone(PHONE | {"killer": PHONE["killer"] | {"style": "psi"}})  # type: ignore[operator]
    assert psi["ro.lmk.use_minfree_levels"] == "false" and psi["ro.lmk.thrashing_limit"] == "100"
    assert of_policy("mglru:swappiness=120,tiers=2") == ({"vm.swappiness": "120"}, "mglru:tiers=2")
    assert of_policy("clock") == ({}, "clock")
    tiered, _ = of_swap("tiered:size=512MiB,budget=64MiB,algorithm=zstd")
    assert tiered["/sys/block/zram0/writeback_limit"] == "16384" and tiered["/sys/block/zram0/comp_algorithm"] == "zstd"
    assert of_swap("flash:size=1024MiB") == ({"swap": "flash:size=1024MiB"}, "")


def test_what_stands_out_is_recommended_and_what_does_not_is_not() -> None:
    base = [100.0, 110, 90, 105, 95, 100]
    faster, unsure = [0.9 * ms for ms in base], [ms + d for ms, d in zip(base, (5, -9, 6, -8, 4, -1), strict=True)]
    found = recommend(
        [
            (
                "r",
                simulated(
                    {
                        "now": ("zram:size=256MiB", base),
                        "big": ("zram:size=512MiB", faster),
                        "zstd": ("zram:size=256MiB,algorithm=zstd", unsure),
                    }
                ),
            )
        ]
    )["recommendation"]
    by_name = {one["name"]: one for one in found["settings"]}
    assert by_name["/sys/block/zram0/disksize"]["recommended"] == "512MiB"
    assert by_name["/sys/block/zram0/comp_algorithm"]["recommended"] is None
    assert "does not separate" in by_name["/sys/block/zram0/comp_algorithm"]["why"]
    assert found["diff"] == "--- now\n+++ recommended\n-/sys/block/zram0/disksize = 256MiB\n+/sys/block/zram0/disksize = 512MiB"
    assert (found["comparisons"], found["options"], len(found["units"])) == (2, 3, 6)
    # The option that has all of it is the measured whole.
    [aim] = [one for one in found["together"]["effects"] if one["outcome"] == "launch_ms"]
    assert found["together"]["option"] == "big" and aim["percent"] == pytest.approx(-10)


def test_two_units_recommend_nothing_and_worse_is_kept_off() -> None:
    two = recommend([("r", simulated({"now": ("none", [100.0, 90]), "zram": ("zram", [50.0, 45])}))])["recommendation"]
    assert two["diff"] == "" and "fewer than 3" in two["settings"][0]["why"]
    base = [100.0, 110, 90, 105]
    worse = recommend([("r", simulated({"now": ("none", base), "zram": ("zram", [2 * ms for ms in base])}))])["recommendation"]
    assert "keep it" in worse["settings"][0]["why"]


def test_settings_are_compared_where_nothing_else_differs() -> None:
    base = [100.0, 110, 90, 105]
    lower = [0.5 * ms for ms in base]
    # Another DRAM size beside another swappiness: no two options differ in swappiness alone.
    apart = [
        ("a", simulated({"x": ("zram", base)})),
        ("b", simulated({"x": ("zram", lower)}, policy="active-inactive:swappiness=100", dram_mib=2048.0)),
    ]
    [one] = recommend(apart)["recommendation"]["settings"]
    assert one["recommended"] is None and "no two options" in one["why"]
    alike = [apart[0], ("b", simulated({"x": ("zram", lower)}, policy="active-inactive:swappiness=100"))]
    [one] = recommend(alike)["recommendation"]["settings"]
    assert (one["name"], one["now"], one["recommended"]) == ("vm.swappiness", "60", "100")


def test_a_recorded_user_is_one_whatever_the_seeds() -> None:
    one = simulated({"now": ("none", [100.0, 90, 80]), "zram": ("zram", [50.0, 45, 40])})
    found = recommend([("r", one | {"inputs": {"large": "sha256:0"}})])["recommendation"]
    assert found["units"] == ["user sha256:0"] and found["diff"] == "" and "fewer than 3" in found["settings"][0]["why"]


def test_refusals() -> None:
    one = simulated({"now": ("none", [1.0, 2, 3])})
    for runs, options, message in (
        ([("r", {"schema": 1, "kind": "simulated"})], {}, "nothing to recommend from"),
        ([("r", one)], {"goal": "stall_ms"}, "expected one of: launch_ms kills"),
        ([("r", one)], {"baseline": "then"}, "expected one of: now"),
        ([("r", one), ("m", one | {"kind": "measured"})], {}, "a model is not a measurement"),
    ):
        with pytest.raises(BadInput, match=message):
            recommend(runs, **options)


def test_the_command_and_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def swaplab(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["swaplab", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    runs = []
    for program in ("djpeg", "node", "chromium"):
        code, said, _ = swaplab(
            "replay",
            Trace.bundled(program).path,
            "--policy",
            "clock",
            "--memory",
            "40%",
            "--scheme",
            "flash,zram,zram:algorithm=zstd",
            "--json",
        )
        assert code == 0
        runs.append(tmp_path / f"{program}.json")
        runs[-1].write_text(said)
    page = tmp_path / "page.html"
    code, said, _ = swaplab("recommend", *runs, "--html", page)
    assert code == 0 and "simulated; 3 options, 3 units" in said, said
    text = page.read_text()
    assert "Recommendation" in text and "What each value does to stall time" in text
    code, said, _ = swaplab("recommend", *runs, "--goal", "flash_write_bytes", "--json")
    assert code == 0 and json.loads(said)["recommendation"]["goal"] == "flash_write_bytes"
    code, _, said = swaplab("recommend", tmp_path / "absent.json")
    assert code == 2 and said.count("\n") == 1
    [section] = report.sections(recommend([("r", simulated({"now": ("none", [1.0, 2, 3])}))]))
    assert section.verdict.startswith("Nothing is recommended")
