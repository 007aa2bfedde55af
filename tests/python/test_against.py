"""The simulator's reading of a bench experiment, and the comparison of the two, by cases worked by hand."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from swaplab import BadInput
from swaplab.live import against, simulated
from swaplab.live.bench import disk, orderings, spec

SWAPLAB = [sys.executable, "-c", "from swaplab.cli import main; main()"]


def document(rows: list[tuple[str, int, float, float, float, float | None]], warm_up: int = 0) -> dict:
    schemes = [
        {"name": name, "swap_bytes": size, "swap_in_bytes": back, "swap_out_bytes": out, "kills": kills, "switch_ms": ms and {"p50": ms}}
        for name, size, back, out, kills, ms in rows
    ]
    return {"experiment": {"bench": {"warm_up_rounds": warm_up}}, "schemes": schemes}


def test_differences_are_shares_of_the_measured_and_kills_are_counts():
    mib = 2**20
    measured = document(
        [("none", 0, 0, 0, 5, None), ("zram", mib, 10 * mib, 20 * mib, 2, 10.0), ("flash", mib, 10 * mib, 20 * mib, 0, 20.0)]
    )
    sim = document([("none", 0, 0, 0, 6, None), ("zram", mib, 11 * mib, 15 * mib, 4, 11.0), ("flash", mib, 10 * mib, 20 * mib, 0, 30.0)])
    found = against.compare(measured, sim)
    none, zram, slow = found["configurations"]
    assert none["swap_in_bytes"]["difference"] == 0 and none["kills"]["met"] and none["switch_ms"]["met"] is None
    assert zram["swap_in_bytes"] == {"measured": 10 * mib, "simulated": 11 * mib, "difference": 0.1, "met": True}
    assert zram["swap_out_bytes"]["difference"] == -0.25 and not zram["swap_out_bytes"]["met"]
    assert zram["kills"]["difference"] == 2 and not zram["kills"]["met"] and slow["switch_ms"]["difference"] == 0.5
    goals = {goal["what"]: (goal["met"], goal["configurations"]) for goal in found["goals"]}
    assert goals == {"swap-ins": (3, 3), "swap-outs": (2, 3), "kills": (2, 3), "median switch": (1, 2)}
    assert found["tau"] == 1  # flash is slower than zram in both


def test_only_rows_of_one_experiment_are_compared():
    one = document([("zram", 1, 0, 0, 0, None)])
    with pytest.raises(BadInput, match="different configurations"):
        against.compare(one, document([("zram", 2, 0, 0, 0, None)]))
    with pytest.raises(BadInput, match="warm_up_rounds"):
        against.compare(document([("zram", 1, 0, 0, 0, None)], warm_up=1), one)
    assert against.compare(one, one)["tau"] is None


def test_the_built_in_experiment_is_read_as_a_phone():
    bench = spec.table(spec.load_experiment("against-sim"))
    apps = spec.load_apps(bench, "here")
    order = [app.name for app in apps]
    table = simulated._table(bench, apps, "here", {"mail": (10.0, 2.0), "chat": (20.0, 4.0)}, "", order, ("zram", 2**24, "none"))
    # mail and chat have one size, so the phone knows one time for both; a quarter of the pages are of a file.
    assert table["apps"]["light"] == {"anon_mib": 9.0, "file_mib": 3.0, "graphics_mib": 0.0, "cold_ms": 15.0, "resume_ms": 3.0}
    assert table["apps"]["kinds"] == "lmhglh"
    assert table["schemes"] == [{"name": "zram", "swap": "zram:size=16777216B", "app_policy": "none"}]
    frames = 64 * 2**20 // 4096
    assert table["phone"]["pool_in_dram"] is False
    assert table["phone"]["dram_mib"] == pytest.approx(64 + 1.25 * math.sqrt(64 * frames) / 4 / 256)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ('{ use = "redis" }', "app redis: the simulator has no model of it"),
        ('{ use = "phone-app", set = { hot_share = 0.1 } }, { use = "phone-app", name = "b" }', "several hot_share"),
        (", ".join(f'{{ use = "phone-app", name = "a{n}", set = {{ footprint = "{n}MiB" }} }}' for n in range(8, 13)), "a fifth size"),
    ],
)
def test_what_the_simulator_can_not_be_told_is_bad_input(tmp_path: Path, change: str, complaint: str):
    text = f'[bench]\nname = "x"\nmemory = "64MiB"\nswap = ["16MiB"]\nschemes = ["zram"]\nwarm_up_rounds = 0\napps = [{change}]\n'
    (tmp_path / "exp.toml").write_text(text)
    done = subprocess.run([*SWAPLAB, "sim", str(tmp_path / "exp.toml")], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and complaint in done.stderr, done.stderr


def test_memory_that_a_bench_takes_for_the_pool_is_not_simulated(tmp_path: Path):
    text = (
        '[bench]\nname = "x"\nmemory = "64MiB"\nswap = ["16MiB"]\nschemes = ["zram"]\nwarm_up_rounds = 0\napps = [{ use = "phone-app" }]\n'
    )
    (tmp_path / "exp.toml").write_text(text + 'pool_memory = "within"\n')
    done = subprocess.run([*SWAPLAB, "sim", str(tmp_path / "exp.toml")], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "whose pool lies beside" in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_sim_takes_a_bench_experiment_and_more_swap_means_fewer_kills():
    runs = [
        subprocess.run([*SWAPLAB, "sim", "against-sim", "--json"], capture_output=True, timeout=60, check=True).stdout for _ in range(2)
    ]
    assert runs[0] == runs[1]
    rows = {(row["name"], row["swap_bytes"] >> 20): row for row in json.loads(runs[0])["schemes"]}
    assert len(rows) == 9
    for scheme in ("flash", "zram"):
        kills = [rows[scheme, size]["kills"] for size in (16, 32, 64, 96)]
        assert kills == sorted(kills, reverse=True) and kills[-1] == 0 and rows["none", 0]["kills"] >= kills[0]


def test_the_queue_of_a_disk_is_fitted_on_some_depths_and_judged_on_others():
    # 100 us of path and 5 us a request at the server: 1, 4 and 16 say so exactly, and 2, 8 and 32 follow.
    rows = [{"operation": "read", "depth": d, "pages_per_s": d / (100 + 5 * d) * 1e6} for d in (1, 2, 4, 8, 16, 32)]
    found = disk.fit(rows)
    assert (found["service_us"], found["wait_us"], found["error_max"]) == (100, 5, 0)
    rows[-1]["pages_per_s"] /= 2
    assert disk.fit(rows)["error_max"] == 1


def test_this_disk_is_measured_at_every_depth(tmp_path: Path):
    try:
        found = disk.measure(tmp_path, 0.01)
    except OSError as error:
        pytest.skip(f"no direct requests on this file system: {error}")
    assert [(row["operation"], row["depth"]) for row in found["rows"]] == [
        (what, d) for what in ("read", "write") for d in (1, 2, 4, 8, 16, 32)
    ]
    assert all(row["pages_per_s"] > 0 for row in found["rows"]) and not list(tmp_path.iterdir())


def bench_row(name: str, size: int, killed: list[int], median: float | None, low: float = 0, high: float = 0) -> dict:
    switch = None if median is None else {"n": 9, "p50": median, "p50_interval": [low, high], "by_app": {"a": median}}
    kills = sum(killed) / len(killed)
    row = {"name": name, "swap_bytes": size << 20, "app_policy": "none", "kills": kills, "killed": killed, "switch_ms": switch}
    return row | {"cold_ms": {"by_app": {"a": 100.0}}}


def test_orderings_are_judged_only_where_the_evidence_separates():
    none = bench_row("none", 0, [9, 10], None)
    rows = [
        none,
        bench_row("flash", 64, [5, 8], None),
        bench_row("flash", 256, [0, 1], 50, 40, 60),
        bench_row("zram", 256, [0, 0], 30, 20, 39),
    ]
    verdicts = {one["claim"]: one["verdict"] for one in orderings.judge(rows)}
    assert verdicts["flash swap avoids kills"] == verdicts["more swap, fewer kills"] == "ordering"
    assert verdicts["zram switches faster than flash"] == "ordering"  # [20, 39] is below [40, 60]
    assert verdicts["a switch is faster than a cold start"] == "ordering"
    assert verdicts["a RAM disk switches faster than flash"] == "not-testable"
    rows[-1] = bench_row("zram", 256, [0, 0], 30, 20, 45)
    assert orderings.judge(rows)[2]["verdict"] == "not-testable"
    rows[-1] = bench_row("zram", 256, [0, 0], 70, 61, 80)
    assert orderings.judge(rows)[2]["verdict"] == "differs"
    rows[2] = bench_row("flash", 256, [10, 11], 50, 40, 60)
    assert orderings.judge(rows)[0]["verdict"] == "not-testable"  # 10 is not more than 10
