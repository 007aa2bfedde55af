"""`opt-cost` is below every policy, and says that it is none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from swaplab import _core

ROOT = Path(__file__).parent.parent.parent
SWAPLAB = Path(sys.executable).parent / "swaplab"
DATA = ROOT / "python" / "swaplab" / "data"
PRICES = {"swap_reads": 5263, "swap_writes": 28571, "file_reads": 10000, "file_writes": 14286}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(SWAPLAB), *map(str, arguments)], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("options", [[], ["--mapping", "ignore", "--first-touch", "zero-fill"]], ids=["follow", "ignore"])
@pytest.mark.parametrize("trace", sorted(path.stem for path in DATA.glob("*.slt")))
def test_no_policy_is_below_the_bound(trace: str, options: list[str]) -> None:
    keys = [row["key"] for row in json.loads(_core.policies())]
    assert "opt-cost" in keys and len(keys) > 20
    done = run("replay", DATA / f"{trace}.slt", "--policy", ",".join(keys), "--memory", "10%", *options, "--json")
    assert done.returncode == 0, done.stderr
    points = {point["policy"]: point for point in json.loads(done.stdout)["points"]}
    bound = points.pop("opt-cost")
    assert bound["io_time_ns"] == sum(bound[column] * ns for column, ns in PRICES.items()) > 0
    for policy, point in points.items():
        assert bound["io_time_ns"] <= point["io_time_ns"] and bound["faults"] <= point["faults"], policy
    # Where no page is unmapped, Belady's rule has the fewest faults.
    assert "ignore" not in options or bound["faults"] == points["opt"]["faults"]


def test_it_is_refused_where_a_policy_must_run(tmp_path: Path) -> None:
    trace = DATA / "djpeg.slt"
    for arguments, why in (
        (["replay", trace, "--policy", "opt-cost", "--memory", "10%", "--scheme", "zram"], "opt-cost: a swap scheme; expected no --scheme"),
        (["replay", trace, "--policy", "opt-cost", "--memory", "10%", "--signal", "fault-only"], "expected exact, for opt-cost"),
        (["replay", trace, "--policy", "opt-cots", "--memory", "10%"], "did you mean that?"),
        (["replay", trace, "--policy", "opt-cost:x=1", "--memory", "10%"], "unknown parameter 'x'"),
        (["replay", trace, "--policy", "opt-cost,lru", "--memory", "101%"], "at most the footprint"),
    ):
        done = run(*arguments)
        assert done.returncode == 2 and why in done.stderr and not done.stdout, (arguments, done.stderr)
    assert "no policy: a lower bound" in run("list", "policies").stdout


def test_bounds_stand_in_their_places_among_the_points(tmp_path: Path) -> None:
    alone = json.loads(run("replay", DATA / "djpeg.slt", "--policy", "opt-cost", "--memory", "20%,40%", "--json").stdout)["points"]
    among = json.loads(run("replay", DATA / "djpeg.slt", "--policy", "lru,opt-cost,fifo", "--memory", "20%,40%", "--json").stdout)["points"]
    assert [point["policy"] for point in among] == ["lru", "lru", "opt-cost", "opt-cost", "fifo", "fifo"]
    assert among[2:4] == alone
    curve = run("mrc", DATA / "djpeg.slt", "--policy", "opt-cost", "--sizes", "3", "--json")
    assert curve.returncode == 0, curve.stderr
