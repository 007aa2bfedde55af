"""Sweeps: their points, their results against single replays, interruption, lost workers, Dask."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from swaplab import BadInput, _core, cli, report
from swaplab.experiment import read_experiment
from swaplab.model import replay
from swaplab.sweep.design import points
from swaplab.sweep.folder import sweep_document, sweep_to_folder
from swaplab.sweep.runner import Batch, Interrupted, Rows, in_this_process, process_pool, run_sweep
from swaplab.sweep.store import RESULTS

SWEEP = """
seed = 3
[replay]
trace = "small.csv"
[sweep.vary]
"replay.policy" = ["clock", "lru", "fifo"]
"replay.memory" = { low = 10, high = 90, steps = 9, unit = "%" }
"replay.swap_device" = ["optane-m10", "ufs-3.1"]
"""


@pytest.fixture
def experiment(tmp_path: Path) -> dict[str, Any]:
    """A sweep of 54 points over a trace of a few hundred references."""
    lines = [f"{(at * at + at // 7) % 97},{'RWI'[at % 3]}" for at in range(600)]
    (tmp_path / "small.csv").write_text("\n".join(["page,op", *lines]) + "\n")
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return read_experiment(tmp_path / "sweep.toml")


def with_sweep(experiment: dict[str, Any], **sweep: Any) -> dict[str, Any]:
    resolved: dict[str, Any] = json.loads(_core.experiment_from_json("test", json.dumps(experiment | {"sweep": sweep})))
    return resolved


def test_a_grid_is_every_combination_in_order(experiment: dict[str, Any]) -> None:
    found = points(experiment, "e")
    assert len(found) == 54 and [point.index for point in found] == list(range(54))
    assert found[0].values == {"replay.memory": "10%", "replay.policy": "clock", "replay.swap_device": "optane-m10"}
    assert found[-1].experiment["replay"]["memory"] == "90%" and "sweep" not in found[-1].experiment


def test_a_random_design_is_a_prefix_of_a_longer_one_and_stays_in_its_ranges(experiment: dict[str, Any]) -> None:
    vary = {"replay.memory": {"low": 1, "high": 50, "unit": "p", "log": True}, "replay.policy": ["lru", "clock"]}
    short, long = (points(with_sweep(experiment, design="random", points=n, vary=vary), "e") for n in (20, 400))
    assert [point.values for point in short] == [point.values for point in long[:20]]
    sizes = [int(point.values["replay.memory"].removesuffix("p")) for point in long]
    assert min(sizes) >= 1 and max(sizes) <= 50
    # Equal ratios: about half of the draws lie below the square root of 1 x 50.
    assert 140 < sum(size <= 7 for size in sizes) < 260
    assert 150 < sum(point.values["replay.policy"] == "lru" for point in long) < 250
    other = points(with_sweep(experiment | {"seed": 4}, design="random", points=20, vary=vary), "e")
    assert [point.values for point in other] != [point.values for point in short]


def test_bad_designs_are_refused(experiment: dict[str, Any]) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"design": "random", "vary": {"seed": [1]}}, "sweep.points is missing"),
        ({"design": "list"}, "sweep.list is empty"),
        ({"vary": {"replay.memory": []}}, "has no values"),
        ({"vary": {"replay.memory": {"low": 5, "high": 1}}}, "expected low <= high"),
        ({"vary": {"replay.memory": {"low": 0, "high": 1, "log": True}}}, "above 0 with log"),
        ({"vary": {"replay.memory": ["5%", "5"]}}, "point 1 (replay.memory = 5)"),
        ({"vary": {"seed": {"low": 1, "high": 2, "steps": 2_000_000}}}, "a sweep of 2,000,000 points; expected at most 1,000,000"),
        ({"vary": {"replay.policy": ["lur"]}}, "did you mean"),
        ({"vary": {"replay.nothing": [1]}}, "unknown key 'nothing'"),
        ({"vary": {"sweep.points": [1]}}, "a key of the sweep itself"),
        ({"vary": {"replay.memory.x": [1]}}, "'memory' is no table"),
    ]
    for sweep, message in cases:
        with pytest.raises(BadInput) as caught:
            points(with_sweep(experiment, **sweep), "e")
        assert message in str(caught.value), (sweep, caught.value)
    with pytest.raises(BadInput, match=r"no \[sweep\]"):
        points({"seed": 0, "replay": {}}, "e")


def test_each_point_is_what_a_replay_of_its_own_gives(experiment: dict[str, Any], tmp_path: Path) -> None:
    frame = run_sweep(experiment, tmp_path / "out", in_this_process)
    assert frame.height == 54 and frame["hash"].n_unique() == 54
    for point, row in zip(points(experiment, "e"), frame.iter_rows(named=True), strict=True):
        [alone] = replay.run(point.experiment)["points"]
        assert {name: row[name] for name in ("policy", "memory_pages", "faults", "swap_writes", "io_time_ns")} == {
            name: alone[name] for name in ("policy", "memory_pages", "faults", "swap_writes", "io_time_ns")
        }
        assert row["replay.swap_device"] == point.experiment["replay"]["swap_device"]


def test_two_processes_write_the_same_bytes_as_one(experiment: dict[str, Any], tmp_path: Path) -> None:
    for jobs in (1, 2):
        sweep_to_folder(experiment, tmp_path / str(jobs), jobs=jobs)
    for name in (RESULTS, "summary.json", "manifest.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name
    assert {file.name for file in (tmp_path / "1").iterdir()} == {RESULTS, "summary.json", "manifest.json", "report.html"}


def test_a_point_is_known_by_the_content_of_its_trace(experiment: dict[str, Any], tmp_path: Path) -> None:
    first = points(experiment, "e")[0]
    key = first.key(replay.identity(first.experiment))
    copy = tmp_path / "copy.csv"
    copy.write_bytes((tmp_path / "small.csv").read_bytes())
    moved = first.experiment | {"replay": first.experiment["replay"] | {"trace": str(copy)}}
    assert first.key(replay.identity(moved)) == key
    changed = tmp_path / "changed.csv"
    changed.write_text(copy.read_text() + "1,W\n")
    moved = first.experiment | {"replay": first.experiment["replay"] | {"trace": str(changed)}}
    assert first.key(replay.identity(moved)) != key


def test_resume_repeats_nothing_and_loses_nothing(experiment: dict[str, Any], tmp_path: Path) -> None:
    whole = run_sweep(experiment, tmp_path / "whole", in_this_process)
    ran: list[int] = []

    def until(limit: int) -> Any:
        def run(batches: list[Batch]) -> Iterator[tuple[Batch, Rows]]:
            for count, (batch, rows) in enumerate(in_this_process(batches)):
                if count == limit:
                    raise KeyboardInterrupt
                ran.extend(index for index, _ in batch)
                yield batch, rows

        return run

    with pytest.raises(Interrupted, match="of 54 points; go on with --resume"):
        run_sweep(experiment, tmp_path / "cut", until(2))
    assert 0 < len(ran) < 54 and not (tmp_path / "cut" / RESULTS).exists()
    with pytest.raises(BadInput, match="not empty"):
        run_sweep(experiment, tmp_path / "cut", until(99))
    again = run_sweep(experiment, tmp_path / "cut", until(99), resume=True)
    assert sorted(ran) == list(range(54))
    assert_frame_equal(again, whole)
    assert (tmp_path / "cut" / RESULTS).read_bytes() == (tmp_path / "whole" / RESULTS).read_bytes()
    run_sweep(experiment, tmp_path / "cut", until(0), resume=True)  # all done: no batch is run


def test_a_killed_worker_loses_doubles_and_leaves_nothing(
    experiment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    batches = [[(point.index, point.experiment)] for point in points(experiment, "e")]
    run = process_pool(2)(batches)
    found = [next(run)]
    victim = multiprocessing.active_children()[0]
    assert victim.pid
    os.kill(victim.pid, signal.SIGKILL)
    found += list(run)
    assert sorted(batch[0][0] for batch, _ in found) == list(range(54))
    assert list(scratch.iterdir()) == []
    assert all(rows == replay.rows(batch) for batch, rows in found)


def test_a_dask_cluster_that_loses_a_worker_gives_the_same(experiment: dict[str, Any], tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed (swaplab[cluster])")
    from swaplab.sweep.cluster import dask_cluster

    whole = run_sweep(experiment, tmp_path / "whole", in_this_process)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        run = dask_cluster(cluster.scheduler_address)

        def killing(batches: list[Batch]) -> Iterator[tuple[Batch, Rows]]:
            single = [[point] for batch in batches for point in batch]
            for count, found in enumerate(run(single)):
                # Few batches are known to the cluster at any time: its memory does not grow with the sweep.
                assert len(cluster.scheduler.tasks) <= 12
                if count == 3:
                    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
                yield found

        run_sweep(experiment, tmp_path / "dask", killing)
    assert_frame_equal(pl.read_parquet(tmp_path / "dask" / RESULTS), whole)
    assert (tmp_path / "dask" / RESULTS).read_bytes() == (tmp_path / "whole" / RESULTS).read_bytes()


def test_a_trace_at_an_address(experiment: dict[str, Any], tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed (swaplab[cluster])")
    slt = tmp_path / "small.slt"
    _core.trace_import(tmp_path / "small.csv", slt, "{}")
    with fsspec.open("memory://traces/small.slt", "wb") as file:
        file.write(slt.read_bytes())
    table = experiment["replay"] | {"memory": "50%", "policy": ["lru", "clock"]}
    near = replay.run({"seed": 0, "replay": table})["points"]
    assert replay.run({"seed": 0, "replay": table | {"trace": "memory://traces/small.slt"}})["points"] == near
    with pytest.raises(BadInput, match="expected an address of a trace"):
        replay.run({"seed": 0, "replay": table | {"trace": "memory://traces/none.slt"}})


@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")
def test_the_page_of_ten_thousand_points_stays_small_and_draws_fast(experiment: dict[str, Any], tmp_path: Path) -> None:
    frame = run_sweep(experiment, tmp_path / "small", in_this_process)
    many = pl.concat([frame] * 186)[:10_000].with_columns(pl.int_range(pl.len()).cast(pl.UInt32).alias("index"))
    # Spread, so that no two outcomes are the same.
    many = many.with_columns(pl.col("io_time_ns") + pl.col("index") * 977, pl.col("memory_pages") * 10_000 + pl.col("index"))
    path = tmp_path / "sweep.html"
    path.write_text(report.page("t", [("sweep", sweep_document(experiment, many))]))
    assert path.stat().st_size < 5_000_000
    with browser.Page(path) as page:
        assert page.seconds < 3
        assert page.value("document.querySelectorAll('figure').length") == 4
        assert page.value("[...document.querySelectorAll('.wide svg')].every(s => s.querySelectorAll('.mark-symbol path').length > 1)")
        assert (page.console, page.requests) == ([], [])


def test_the_command(
    experiment: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def swaplab(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["swaplab", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    file, out = tmp_path / "sweep.toml", tmp_path / "out"
    code, said, _ = swaplab("sweep", file, "--set", "replay.mapping=ignore", "--jobs", "1", "-o", out)
    assert code == 0 and "outcomes that no other beats" in said
    code, said, _ = swaplab("sweep", file, "--set", "replay.mapping=ignore", "--jobs", "1", "-o", out, "--resume", "--json")
    document = json.loads(said)
    assert code == 0 and len(document["points"]) == 54 and document["experiment"]["replay"]["mapping"] == "ignore"
    code, _, said = swaplab("sweep", file, "-o", out)
    assert code == 2 and "not empty" in said
    for address in ("tcp://127.0.0.1:1", "nowhere"):
        code, _, said = swaplab("sweep", file, "--cluster", address, "-o", tmp_path / "c")
        assert code == 2 and "of a Dask scheduler, tcp://HOST:PORT" in said and said.count("\n") == 1
        assert not (tmp_path / "c").exists()
    code, _, said = swaplab("sweep", tmp_path / "none.toml", "-o", tmp_path / "d")
    assert code == 2 and "expected an experiment file" in said
