"""`swaplab sim` and `trace gen` by command line: keys, determinism, bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SWAPLAB = Path(sys.executable).parent / "swaplab"
#: A run of a fraction of a second: few launches, one seed, two schemes.
SHORT = ["--set", "sim.launches=zipf:launches=25", "--set", "sim.seeds=1"]
TWO = "sim.schemes=[{name='van',swap='flash'},{name='a2s',swap='nvm-direct',app_policy='a2s'}]"


def swaplab(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SWAPLAB, *map(str, arguments)], capture_output=True, text=True, check=False)


def document(*arguments: str) -> dict[str, Any]:
    done = swaplab("sim", "a2s-large", *SHORT, "--set", TWO, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_short_run_has_every_key_and_the_same_bytes_on_two_threads() -> None:
    found = document("--jobs", "1")
    assert found == document("--jobs", "2")
    assert (found["schema"], found["kind"]) == (1, "simulated")
    for one in found["schemes"]:
        assert one["launches"] == one["cold_starts"] + one["resumes"] == sum(one["ux"].values()) == 25
        for key in ("kills", "swap_in_bytes", "swap_out_bytes", "copied_pages", "direct_reads", "refaults", "nvm_write_bytes"):
            assert one[key] >= 0
        assert set(one["launch_ms"]) == {"mean", "p50", "p95", "mean_interval", "p50_interval", "p95_interval"}
        assert set(one["entry_lifetime_s"]) == {"p10", "p50", "p90", "below", "never"}
        assert set(one["cpu_s"]) == {"user", "system"}


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    backwards = tmp_path / "l.csv"
    backwards.write_text("seq,t_s,app,category,fg_s\n0,5,A,,1\n1,4,B,,1\n")
    cases = [
        (["sim", "nowhere.toml"], "nowhere.toml"),
        (["sim", "a2s-large", "--set", "sim.phne.dram_mib=4"], "unknown field `phne`"),
        (["sim", "a2s-large", "--set", "sim.phone.dram_mib=100"], "sim.phone.dram_mib"),
        (["sim", "a2s-large", "--set", "sim.launches=larg"], "did you mean"),
        (["sim", "a2s-large", "--set", f"sim.launches={backwards}"], "line 3: t_s = 4 after 5"),
        (["sim", "a2s-large", "--set", "sim.launches=round-robin:app=5"], "did you mean"),
        (["sim", "a2s-large", "--set", "sim.seeds=0"], "sim.seeds"),
        (["sim", "a2s-large", "--set", "sim.seeds"], "--set"),
        (["sim", "a2s-large", "--set", "sim.schemes=[]"], "sim.schemes"),
        (["sim", "a2s-large", "--set", "sim.phone.battery_wh=0"], "sim.phone.battery_wh"),
        (["sim", "a2s-large", "--set", "sim.apps.kinds=lx"], "unknown kind of app 'lx'"),
        (["sim", "a2s-large", "--set", "sim.schemes=[{name='a',swap='zrma'}]"], "did you mean"),
        (["sim", "a2s-large", "--set", "sim.launches=zipf:launches=5", "--set", "sim.phone.dram_mib=700"], "sim.phone.dram_mib"),
        (["trace", "gen", "larg", "-o", str(tmp_path / "o.slt")], "did you mean"),
    ]
    for arguments, said in cases:
        done = swaplab(*arguments)
        assert (done.returncode, done.stdout) == (2, "") and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "o.slt").exists()


def test_generated_launches_are_the_same_for_a_seed(tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("1.slt", "2.slt", "3.slt"))
    for path, seed in ((one, 7), (two, 7), (other, 8)):
        assert swaplab("trace", "gen", "large", "--seed", str(seed), "-o", path).returncode == 0
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()
    reuse = json.loads(swaplab("trace", "analyze", one, "--json").stdout)["reuse"]
    assert 25 < reuse["unique_apps"] < 50 and 4 < reuse["average_stack_distance"] < 8 < reuse["average_launch_distance"]


APPS = Path(__file__).resolve().parents[3] / "shared" / "data" / "apps"


@pytest.mark.skipif(not APPS.is_dir(), reason="the recorded launches are not beside the checkout")
def test_the_windows_of_real_launches_have_the_figures_of_their_description() -> None:
    """../shared/data/README.md: 13 apps and 1.83 distinct apps between two launches; 23 and 4.56. READING 004: with 16 cached apps 8.3 % of
    the first user's launches miss."""
    for name, apps, distance in (("apps256_small_vh1", 13, 1.83), ("apps256_medium_vh2", 23, 4.56)):
        reuse = json.loads(swaplab("trace", "analyze", APPS / f"{name}.csv", "--json").stdout)["reuse"]
        assert (reuse["unique_apps"], round(reuse["average_stack_distance"], 2)) == (apps, distance)
    cold = json.loads(swaplab("trace", "analyze", APPS / "apps_vh1_full.csv", "--json").stdout)["reuse"]["cold_starts_by_live_apps"]
    assert round(cold[16] / cold[0], 3) == 0.083
