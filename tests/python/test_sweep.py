"""Experiments with `[vary]`: points, rows compared with single runs, resumed runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import browser
import polars as pl
import pytest
from command import csv_trace, here, swaplab
from swaplab import BadInput, _core, report
from swaplab.core import document as documents
from swaplab.core import experiment as experiments
from swaplab.core.experiment import Point
from swaplab.core.model import Experiment, Row
from swaplab.report.folder import files_of
from swaplab.worlds import run
from swaplab.worlds.result import Options, WorldResult
from swaplab.worlds.run import _warnings
from swaplab.worlds.sweep.pool import process_pool
from swaplab.worlds.sweep.runner import Batch, Runner
from swaplab.worlds.sweep.store import PARTS, Store
from sweeps import POINTS, ROWS, SWEEP, document_bytes, one_by_one, small_experiment, varied


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return small_experiment(tmp_path)


def test_points_are_every_combination_in_order(experiment: Experiment) -> None:
    found = experiments.points(experiment)
    assert len(found) == POINTS
    assert found[0] == {"machine.dram": "10%", "run.replay.swap_device": "optane-m10"}
    assert found[1] == {"machine.dram": "10%", "run.replay.swap_device": "ufs-3.1"}
    last = experiments.at(experiment, found[-1])
    assert last.machine.dram == "90%" and last.run.replay.swap_device == "ufs-3.1" and last.vary is None


def test_random_points_begin_with_those_of_fewer_and_stay_in_their_ranges(experiment: Experiment, tmp_path: Path) -> None:
    vary = '"machine.dram" = { low = 1, high = 50, unit = "p", log = true }\n"run.replay.mapping" = ["follow", "ignore"]'
    short, long = (experiments.points(varied(tmp_path, f"points = {n}\n{vary}")) for n in (20, 400))
    assert short == long[:20]
    sizes = [int(str(point["machine.dram"]).removesuffix("p")) for point in long]
    assert min(sizes) >= 1 and max(sizes) <= 50
    # On a logarithmic scale, about half of the draws are below the square root of 1 x 50.
    assert 140 < sum(size <= 7 for size in sizes) < 260
    assert 150 < sum(point["run.replay.mapping"] == "follow" for point in long) < 250
    assert experiments.points(varied(tmp_path, f"points = 20\n{vary}", seed=4)) != short


BAD = {
    "points = 20\n'run.seed' = []": "an empty list",
    "": "nothing varies",
    "list = []": "nothing varies",
    "'machine.dram' = []": "an empty list; expected at least one value",
    "'machine.dram' = { low = 5, high = 1 }": "low 5, high 1",
    "'machine.dram' = { low = 0, high = 1, log = true }": "above 0 with log",
    "'machine.dram' = ['5%', '5']": "'5' has no unit: 5% or 5MiB?",
    "'run.seed' = { low = 1, high = 2, steps = 2_000_000 }": "2000000 points; expected 1 to 1000000",
    "'design.clock.policy' = ['lur']": "design 'clock': policy: unknown policy 'lur'",
    "'machine.nothing' = [1]": "unknown key 'nothing'",
    "'machin.dram' = ['5%']": "unknown key 'machin'; expected 'machine'",
    "'design.clokc.policy' = ['lru']": "no design 'clokc'; expected 'clock'",
    "'vary.points' = [1]": "a key of [vary] itself",
    "'machine.dram.x' = [1]": "(machine.dram.x = 1): machine.dram: map; expected",
    "list = [{ 'machine.dram' = '5%' }]\n'run.seed' = [1]": "a list together with keys",
}


@pytest.mark.parametrize("vary", BAD)
def test_an_invalid_vary_is_refused_before_any_work(experiment: Experiment, tmp_path: Path, vary: str) -> None:
    (tmp_path / "bad.toml").write_text(f"{SWEEP.partition('[vary]')[0]}[vary]\n{vary}\n")
    if "dram" not in vary:
        vary_needs_memory = (tmp_path / "bad.toml").read_text().replace("[run]", "[machine]\ndram = '20%'\n[run]")
        (tmp_path / "bad.toml").write_text(vary_needs_memory)
    here("run", tmp_path / "bad.toml", "-o", tmp_path / "out").refuses(BAD[vary])
    assert not (tmp_path / "out").exists()


def test_each_point_equals_a_separate_run(experiment: Experiment) -> None:
    together = run(experiment, Options(jobs=1)).document.rows
    assert len(together) == ROWS and len({(row.design, str(row.point)) for row in together}) == ROWS
    at = 0
    for point in experiments.points(experiment):
        alone = run(experiments.at(experiment, point), Options(jobs=1)).document.rows
        for row, same in zip(together[at : at + 3], alone, strict=True):
            assert row.point == point and row.paging.faults
            assert row.model_copy(update={"point": {}}) == same
        at += 3


def test_processes_threads_and_the_order_of_work_change_no_byte(experiment: Experiment) -> None:
    def backwards(batches: list[Batch], options: Options) -> Iterator[tuple[Batch, WorldResult]]:
        yield from one_by_one(batches[::-1], options)

    first = document_bytes(experiment)
    for runner in (process_pool(2), one_by_one, backwards):
        assert document_bytes(experiment, runner) == first


def test_the_command_writes_the_same_folder_with_any_number_of_processes(experiment: Experiment, tmp_path: Path) -> None:
    for jobs in (1, 2):
        done = swaplab("run", tmp_path / "sweep.toml", "--jobs", jobs, "-o", tmp_path / str(jobs))
        assert done.code == 0, done.err
    folders = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in "12"]
    assert folders[0].keys() == folders[1].keys() >= {"manifest.json", "summary.json", "report.html"}
    assert [name for name in folders[0] if folders[0][name] != folders[1][name]] == []


def test_a_point_is_identified_by_the_content_of_its_trace(experiment: Experiment, tmp_path: Path) -> None:
    """A resumed run reuses finished points only if the content of the files that they read is
    unchanged.
    """
    ran: list[int] = []

    def counted(batches: list[Batch], options: Options) -> Iterator[tuple[Batch, WorldResult]]:
        for batch, result in one_by_one(batches, options):
            ran.append(batch[1][0][0])
            yield batch, result

    place = tmp_path / "out"
    run(experiment, Options(jobs=1), counted, Store(place))
    assert len(ran) == POINTS
    ran.clear()
    os.utime(tmp_path / "small.csv")
    run(experiment, Options(jobs=1), counted, Store(place, resume=True))
    assert ran == []
    (tmp_path / "changed").mkdir()
    (tmp_path / "changed" / "small.csv").write_text((tmp_path / "small.csv").read_text() + "1,W\n")
    (tmp_path / "changed" / "sweep.toml").write_text(SWEEP)
    run(experiments.read(tmp_path / "changed" / "sweep.toml"), Options(jobs=1), counted, Store(place, resume=True))
    assert len(ran) == POINTS


def test_resume_repeats_nothing_and_loses_nothing(experiment: Experiment, tmp_path: Path) -> None:
    whole = document_bytes(experiment)
    ran: list[int] = []

    def until(limit: int) -> Runner:
        def cut(batches: list[Batch], options: Options) -> Iterator[tuple[Batch, WorldResult]]:
            for count, (batch, result) in enumerate(one_by_one(batches, options)):
                if count == limit:
                    raise KeyboardInterrupt
                ran.extend(index for index, _ in batch[1])
                yield batch, result

        return cut

    with pytest.raises(KeyboardInterrupt):
        run(experiment, Options(jobs=1), until(5), Store(tmp_path / "cut"))
    assert len(ran) == 5 and len(list((tmp_path / "cut" / PARTS).iterdir())) == 5
    with pytest.raises(BadInput, match="not empty"):
        Store(tmp_path / "cut")
    again = document_bytes(experiment, until(99), Store(tmp_path / "cut", resume=True))
    assert sorted(ran) == list(range(POINTS)) and again == whole
    assert (
        document_bytes(experiment, until(0), Store(tmp_path / "cut", resume=True)) == whole
    )  # all points are finished, so no batch is run


def test_a_trace_at_an_address(experiment: Experiment, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed (swaplab[cluster])")
    slt = tmp_path / "small.slt"
    _core.trace_import(tmp_path / "small.csv", slt, "{}")
    with fsspec.open("memory://traces/small.slt", "wb") as file:
        file.write(slt.read_bytes())

    def rows(trace: str) -> list[Row]:
        tables: dict[str, Any] = {"machine": {"dram": "50%"}, "design": [{"policy": ["lru", "clock"]}], "workload": {"trace": trace}}
        return [row.model_copy(update={"workload": ""}) for row in run(experiments.build(**tables)).document.rows]

    assert len(near := rows(str(tmp_path / "small.csv"))) == 2
    assert rows("memory://traces/small.slt") == near
    with pytest.raises(BadInput, match="expected an address of a trace"):
        rows("memory://traces/none.slt")


@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")
def test_the_page_of_ten_thousand_points_stays_small_and_draws_fast(experiment: Experiment, tmp_path: Path) -> None:
    document = run(experiment, Options(jobs=1)).document
    # All outcomes are distinct.
    many = [row.model_copy(deep=True) for _ in range(186) for row in document.rows][:10_000]
    for at, row in enumerate(many):
        row.time.io_ns = (row.time.io_ns or 0) + at * 977
        row.memory.dram_bytes = (row.memory.dram_bytes or 0) * 10_000 + at * 4096
        row.memory.total_dram_bytes = row.memory.dram_bytes
    path = tmp_path / "sweep.html"
    path.write_text(report.page([("sweep", document.model_copy(update={"rows": many}))]))
    assert path.stat().st_size < 5_000_000
    with browser.Page(path) as page:
        assert page.seconds < 3
        assert page.value("document.querySelectorAll('figure').length") >= 3
        assert page.value("[...document.querySelectorAll('.wide svg')].every(s => s.querySelectorAll('.mark-symbol path').length > 1)")
        assert (page.console, page.requests) == ([], [])


def test_the_results_of_a_run_folder_are_a_frame(experiment: Experiment) -> None:
    outcome = run(experiment, Options(jobs=1))
    files = files_of(replace(outcome, files={"x.events": "swapped out\n"}))
    assert {"manifest.json", "summary.json", "report.html"} <= files.keys() and files["x.events"] == b"swapped out\n"
    frame = documents.frame(outcome.document)
    assert frame.height == ROWS
    best = frame.sort("time.io_ns").group_by("machine.dram", "run.replay.swap_device", maintain_order=True).first()
    assert best.height == POINTS and best["design"].null_count() == 0
    assert frame["run.replay.swap_device"].unique().sort().to_list() == ["optane-m10", "ufs-3.1"]
    assert frame["paging.faults"].dtype in (pl.Float64, pl.Int64)


@pytest.mark.long
def test_the_command(experiment: Experiment, tmp_path: Path) -> None:
    file, out = tmp_path / "sweep.toml", tmp_path / "out"
    change = ("--set", "run.replay.mapping=ignore")
    done = here("run", file, *change, "--jobs", "1", "-o", out)
    assert done.code == 0 and "report.html" in done.out
    found = here("run", file, *change, "--jobs", "1", "-o", out, "--resume", "--json").document
    assert len(found["rows"]) == ROWS and found["experiment"]["run"]["replay"]["mapping"] == "ignore"
    assert found == json.loads((out / "summary.json").read_text())
    here("run", file, "-o", out).refuses("not empty")
    here("run", file, "--resume").refuses("--resume: no folder")
    for address in ("tcp://127.0.0.1:1", "nowhere"):
        here("run", file, "--cluster", address, "-o", tmp_path / "c").refuses("of a Dask scheduler, tcp://HOST:PORT")
        assert not (tmp_path / "c").exists()
    here("run", tmp_path / "none.toml", "-o", tmp_path / "d").refuses("expected an experiment file")
    assert not (tmp_path / "d").exists()


def test_a_run_is_resumed_neither_among_other_files_nor_over_another_run(experiment: Experiment, tmp_path: Path) -> None:
    file, foreign, other = tmp_path / "sweep.toml", tmp_path / "foreign", tmp_path / "other"
    foreign.mkdir()
    (foreign / "report.html").write_text("mine")
    here("run", file, "-o", foreign, "--resume").refuses("foreign: not the folder of a run; expected that of a stopped run, or a new one")
    csv_trace(tmp_path / "t.csv")
    (tmp_path / "e.toml").write_text("[[design]]\npolicy = 'lru'\n[machine]\ndram = '50%'\n[workload]\ntrace = 't.csv'\n")
    assert here("run", tmp_path / "e.toml", "-o", other).code == 0
    here("run", file, "-o", other, "--resume").refuses("other: the finished run of another experiment")
    assert [path.name for path in foreign.iterdir()] == ["report.html"] and (foreign / "report.html").read_text() == "mine"
    assert len(json.loads((other / "summary.json").read_text())["rows"]) == 1


def test_a_warning_says_at_which_points_it_holds() -> None:
    values: list[Point] = [{"machine.dram": f"{gib}GiB"} for gib in range(1, 8)]
    found = _warnings({"calm": {1, 3}, "all": set(range(7)), "most": set(range(6))}, values)
    most = "most (at machine.dram=1GiB; machine.dram=2GiB; machine.dram=3GiB; machine.dram=4GiB; and 2 others)"
    assert found == ["all", "calm (at machine.dram=2GiB; machine.dram=4GiB)", most]


def test_a_folder_of_points_can_be_resumed_with_other_points(experiment: Experiment, tmp_path: Path) -> None:
    """Finished points are reused by their identity, even if other points are requested in the next
    run.
    """
    csv_trace(tmp_path / "t.csv")
    (tmp_path / "e.toml").write_text("[[design]]\npolicy = 'lru'\n[workload]\ntrace = 't.csv'\n[vary]\n'machine.dram' = ['20%', '50%']\n")
    store = Store(tmp_path / "out")
    run(experiments.read(tmp_path / "e.toml"), Options(jobs=1), one_by_one, store)
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / PARTS).iterdir()}
    wider = experiments.read(tmp_path / "e.toml", ["vary={'machine.dram'=['20%','30%','50%']}"])
    outcome = run(wider, Options(jobs=1), one_by_one, Store(tmp_path / "out", resume=True))
    assert len(outcome.document.rows) == 3
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / PARTS).iterdir()}
    assert len(after) == 3 and kept.items() <= after.items()
