"""`swaplab bench` without root: experiment and app files, the killer's decisions, A2S' steering, the statistics."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from swaplab import BadInput
from swaplab.config import BenchKiller
from swaplab.live.bench import killer, runner, spec, steering, summary
from swaplab.live.collect import counters, events

SWAPLAB = [sys.executable, "-c", "from swaplab.cli import main; main()"]
GOOD = '[bench]\nname = "x"\nmemory = "64MiB"\nswap = ["16MiB"]\nschemes = ["zram"]\napps = [{ use = "redis" }]\n'


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SWAPLAB, "bench", *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('memry = "1MiB"', "line 7: unknown key 'memry'; expected 'memory' (did you mean that?)"),
        ('memory = "lots"', "bench.memory: memory 'lots': not a number with a unit; expected a size such as 64MiB"),
        ("rounds = 0", "bench.rounds: 0; expected 1 to"),
        ("rounds = -1", "line 7: invalid value"),
        ("killer = { poll = 1 }", "unknown key 'poll'; expected 'poll_ms'"),
        ('apps = [{ use = "redus" }]', "did you mean redis?"),
        ('apps = [{ use = "redis" }, { use = "redis" }]', "two apps are named 'redis'"),
        ('apps = [{ use = "redis", set = { kays = 1 } }]', "unknown value 'kays'; expected one of keys, bytes"),
        ('order = ["redis", "maps"]', "order: 'maps'; expected names of apps: redis"),
        ('schemes = ["zrm"]', "unknown scheme 'zrm'; expected 'zram' (did you mean that?)"),
        ('schemes = ["tiered"]', "scheme 'tiered'; expected some of none, flash"),
        ("name = 3 = 4", "line 6: "),
    ],
)
def test_a_bad_experiment_is_one_line_with_place_and_expectation(tmp_path: Path, line: str, complaint: str):
    key = line.split()[0]
    text = "\n".join(row for row in GOOD.splitlines() if not row.startswith(f"{key} =")) + f"\n{line}\n"
    place = str(tmp_path / "bad.toml")
    Path(place).write_text(text)
    with pytest.raises(BadInput) as caught:
        table = spec.table(spec.load_experiment(place))
        spec.load_apps(table, place)
        runner.configurations(table, place)
    said = str(caught.value)
    assert complaint in said and "\n" not in said and ("bad.toml" in said or "redus" in said)


def test_a_command_that_does_not_exist_and_a_missing_file_are_bad_input(tmp_path: Path):
    (tmp_path / "app.toml").write_text(
        'name = "a"\ncommand = ["no-such-program"]\nready = [{ expect = "x" }]\nrequest = [{ expect = "x" }]\n'
    )
    (tmp_path / "exp.toml").write_text(GOOD.replace("redis", str(tmp_path / "app.toml")))
    done = bench(str(tmp_path / "exp.toml"), "--dry-run")
    assert done.returncode == 2 and "'no-such-program'; expected a program" in done.stderr
    with pytest.raises(BadInput, match="expected an experiment"):
        spec.load_experiment(str(tmp_path / "none.toml"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_without_root_the_missing_capability_is_named():
    preload = "import os, sys, swaplab.live.target.registry; from swaplab.cli import main"
    code = f"{preload}; os.setresuid(65534, 65534, 65534); sys.argv = ['swaplab', 'bench', 'quick']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    if "Permission denied" in done.stderr or "PermissionError" in done.stderr:
        pytest.skip("this checkout can't be read by an unprivileged user")
    assert done.returncode == 3 and "needs root (effective user id 65534" in done.stderr, done.stderr


def test_a_dry_run_prints_every_change(tmp_path: Path):
    (tmp_path / "exp.toml").write_text(GOOD.replace("redis", "swaplab-app").replace('"zram"', '"zram", "ramdisk", "flash", "none"'))
    done = bench(str(tmp_path / "exp.toml"), "--dry-run")
    if "expected a program" in done.stderr:
        pytest.skip("swaplab-app isn't built")
    assert done.returncode == 0, done.stderr
    for change in (
        "hot_add",
        "swapon --priority",
        "mount -t tmpfs -o noswap",
        "losetup --find",
        "fallocate --length 16777216",
        "swapoff",
        "umount",
    ):
        assert change in done.stdout
    assert "as nobody: " in done.stdout


def test_every_built_in_file_reads():
    for name in spec.built_in("experiments"):
        table = spec.table(spec.load_experiment(name))
        assert table.name == name and spec.load_apps(table, name)
    assert len(spec.table(spec.load_experiment("swapbench")).apps) >= 8


def test_dollars_of_an_app_are_replaced_only_where_they_name_a_value():
    app = spec.App(name="a", command=["x"], ready=[spec.Step(expect="x")], request=[spec.Step()], set={"n": "5"})
    assert app.fill("${n}$ $n a{1}", {}) == "5$ $n a{1}"
    with pytest.raises(BadInput, match=r"'\$\{m\}' is unknown; expected one of n"):
        app.fill("${m}", {})


class FakeGroup:
    path = Path("/nonexistent")


def reason(swap: int, files: int, usage: int, swapped: int, refaults: int = 0, swappable: int = 1 << 40) -> str | None:
    one = killer.LowMemoryKiller(BenchKiller(psi_partial_stall_ms=0), FakeGroup(), 1000_000, swap, lambda: [], lambda: swappable)
    stat = {"active_file": files, "inactive_file": 0, "swap": swapped, "workingset_refault_file": 0}
    one.reason(10.0, stat, usage)
    return one.reason(10.5, stat | {"workingset_refault_file": refaults}, usage)


def test_the_killer_kills_when_memory_and_swap_are_low():
    assert reason(swap=0, files=0, usage=900_000, swapped=0) is None  # a tenth is free
    assert reason(swap=0, files=0, usage=950_000, swapped=0) == "LOW_MEM_AND_SWAP"  # 5 % is less than the limit of 6 %
    assert reason(swap=0, files=50_000, usage=950_000, swapped=0) is None  # file pages can be dropped
    assert reason(swap=100_000, files=0, usage=990_000, swapped=89_000) is None  # 11 % of swap is free
    assert reason(swap=100_000, files=0, usage=990_000, swapped=91_000) == "LOW_MEM_AND_SWAP"
    assert reason(swap=100_000, files=0, usage=990_000, swapped=0, swappable=1000) == "LOW_MEM_AND_SWAP"  # nobody may be swapped out
    assert reason(swap=100_000, files=4096, usage=990_000, swapped=0, refaults=3) == "LOW_MEM_AND_THRASHING"  # 3 refaults of 1 page
    assert reason(swap=100_000, files=4096, usage=990_000, swapped=0, refaults=1) is None
    assert reason(swap=100_000, files=400_000, usage=600_000, swapped=91_000, refaults=300) == "LOW_SWAP_AND_THRASHING"
    assert reason(swap=100_000, files=400_000, usage=600_000, swapped=91_000) is None


def test_reuse_distance_is_the_papers_example():
    one = steering.Steering("lvsp", 60, True)
    for name in ["a", *"bcde", "a", *"bcde", "a", *"bcdefghijk"]:
        one.launched(name)
    assert one.distance("a") == 5.5  # launched 3 times, average distance 4, 10 launches since: (3 x 4 + 10) / 4
    assert one.may_swap("a", 30) and not one.may_swap("k", 1)  # k was launched once, less than T_launched
    assert not steering.Steering("ess", 60, True).may_swap("a", 18) and steering.Steering("ess", 60, True).may_swap("a", 17)


def test_statistics_by_hand():
    assert summary.quantile([4, 1, 3, 2], 0.5) == 2.5 and summary.quantile([1, 2, 3, 4, 5], 0.95) == pytest.approx(4.8)
    row = summary.times([("a", 1.0), ("a", 2.0), ("b", 3.0), ("b", 100.0)], seed=1)
    assert row["n"] == 4 and row["p50"] == 2.5 and row["mean"] == 26.5 and row["by_app"] == {"a": 1.5, "b": 51.5}
    assert row["p50_interval"] == [1.5, 51.5]  # both apps, or one of them twice
    assert summary.times([], 1) is None and summary.times([("a", 1.0)], 1)["p50_interval"] is None
    assert summary.kendall([1, 2, 3, 4], [1, 2, 3, 4]) == 1 and summary.kendall([1, 2, 3], [3, 2, 1]) == -1
    assert summary.kendall([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(4 / 6)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_a_quantile_lies_among_the_values(values: list[float], share: float):
    assert min(values) <= summary.quantile(values, share) <= max(values)


def test_kernel_texts_are_read():
    assert counters.pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 total=7\n") == {"some": 12, "full": 7}
    assert counters.table("pswpin 3\npswpout 44\nnot a number\n") == {"pswpin": 3, "pswpout": 44}
    text = """# tracer: nop
 swaplab-app-1021  [001] d..1.   83.123456: block_rq_issue: 254,0 WS 4096 () 8 + 8 [swaplab-app]
   kworker/0:1-77  [000] .....   83.200000: block_rq_complete: 254,0 WS () 8 + 8 [0]
"""
    found = events.parse(text)
    assert [(event.name, event.process, event.time_s) for event in found] == [
        ("block_rq_issue", 1021, 83.123456),
        ("block_rq_complete", 77, 83.2),
    ]
    assert events.count(found) == {"block_rq_complete": 1, "block_rq_issue": 1}


def test_launch_orders_are_drawn_by_popularity_and_reproducible(tmp_path: Path):
    text = (
        GOOD.replace('{ use = "redis" }', '{ use = "swaplab-app", name = "app", count = 26 }')
        + "order = { launches = 256, alpha = 1.57, seed = 3 }\n"
    )
    (tmp_path / "exp.toml").write_text(text)
    table = spec.table(spec.load_experiment(str(tmp_path / "exp.toml")))
    apps = spec.load_apps(table, "here")
    assert [app.name for app in apps][:2] == ["app-1", "app-2"] and apps[4].set["seed"] == "5"
    order = spec.launches(table, apps)
    assert len(order) == 256 and order == spec.launches(table, apps)
    assert all(first != second for first, second in zip(order, order[1:], strict=False))
    assert order.count("app-1") > order.count("app-5") > order.count("app-26")
    assert spec.launches(table.model_copy(update={"order": "round-robin"}), apps) == [app.name for app in apps]


def test_how_a_launch_feels_is_tolias_classes():
    assert summary.classes([150, 151, 1000, 1999, 5000, 5001]) == {
        "crisp": 1,
        "noticeable": 2,
        "annoying": 1,
        "unacceptable": 1,
        "unusable": 1,
    }
