"""Sweeps with a killed run or lost workers give the same results as undisturbed ones."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import SWAPLAB, swaplab
from swaplab.core import experiment as experiments
from swaplab.core.model import Experiment
from swaplab.worlds.result import Options, WorldResult
from swaplab.worlds.sweep.cluster import dask_cluster
from swaplab.worlds.sweep.pool import process_pool
from swaplab.worlds.sweep.runner import Batch, work
from swaplab.worlds.sweep.store import PARTS, Store
from sweeps import POINTS, ROWS, document_bytes, small_experiment


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return small_experiment(tmp_path)


def interrupted(call: list[str | Path], parts: Path, blow: signal.Signals, alone: bool = False) -> tuple[int, str] | None:
    """Send a run the signal once two points are saved. Returns its exit code and messages; None if
    it finished before.

    SIGKILL is also sent to its workers, unless `alone`.
    """
    running = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    assert running.stderr
    try:
        stop_at = time.monotonic() + 120
        while running.poll() is None and time.monotonic() < stop_at and len(list(parts.glob("*.json"))) < 2:
            time.sleep(0.005)
        if running.poll() is None:
            running.send_signal(blow) if alone or blow != signal.SIGKILL else os.killpg(running.pid, blow)
        messages = running.stderr.read().decode()
        code = running.wait(60)
    finally:
        if running.poll() is None:
            running.kill()
    assert code in (0, 130, -signal.SIGKILL), messages
    return (code, messages) if code else None


@pytest.mark.parametrize("blow", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_a_resumed_run_after_a_kill_gives_the_same_bytes(experiment: Experiment, tmp_path: Path, blow: signal.Signals) -> None:
    """The run is killed once some points are saved, also by SIGKILL."""
    cut, ended = tmp_path / "cut", None
    for references in (400_000, 3_200_000):
        (tmp_path / "small.csv").write_text("page,op\n" + "".join(f"{at % 97},W\n" for at in range(references)))
        if ended := interrupted([SWAPLAB, "run", tmp_path / "sweep.toml", "--jobs", "2", "-o", cut], cut / PARTS, blow):
            break
        shutil.rmtree(cut)
    assert ended
    code, messages = ended
    kept = len(list((cut / PARTS).glob("*.json")))
    assert 2 <= kept <= POINTS and not (cut / "summary.json").exists()
    if blow == signal.SIGINT:
        assert code == 130 and "go on with --resume" in messages and messages.count("\n") == 1
    done = swaplab("run", tmp_path / "sweep.toml", "--jobs", "2", "-o", cut, "--resume")
    assert done.code == 0, done.err
    assert swaplab("run", tmp_path / "sweep.toml", "--jobs", "1", "-o", tmp_path / "whole").code == 0
    folders = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("cut", "whole")]
    assert folders[0] == folders[1] and PARTS not in folders[0]


def test_one_run_at_a_time_writes_into_a_folder(experiment: Experiment, tmp_path: Path) -> None:
    """Of two concurrent runs in one folder, one continues, and its folder equals that of an
    undisturbed run.
    """
    first = Store(tmp_path / "held")
    swaplab("run", tmp_path / "sweep.toml", "-o", tmp_path / "held", "--resume").refuses("held: another run is writing into it", code=1)
    first.abandon()
    call = [SWAPLAB, "run", tmp_path / "sweep.toml", "--jobs", "1", "-o", tmp_path / "both", "--resume"]
    pair = [subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    messages = [one.communicate(timeout=120)[1] for one in pair]
    # The later one may start after the first has ended; then it finds a complete run and writes it
    # again.
    assert all(one.returncode == 0 or "another run is writing into it" in said for one, said in zip(pair, messages, strict=True)), messages
    assert 0 in [one.returncode for one in pair]
    assert swaplab("run", tmp_path / "sweep.toml", "--jobs", "1", "-o", tmp_path / "whole").code == 0
    folders = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("both", "whole")]
    assert folders[0] == folders[1]


@pytest.mark.parametrize("damage", [b"", b'{"rows": [', b"\xff\0"])
def test_a_damaged_point_runs_again(experiment: Experiment, tmp_path: Path, damage: bytes) -> None:
    """A power loss may leave a file with its name but without its content."""
    store = Store(tmp_path / "cut")
    whole = document_bytes(experiment, None, store)
    first = min((tmp_path / "cut" / PARTS).glob("*.json"))
    kept, _ = first.read_bytes(), first.write_bytes(damage)
    assert document_bytes(experiment, None, store) == whole and first.read_bytes() == kept


def test_a_killed_worker_causes_no_missing_or_duplicate_rows_and_leaves_no_files(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    all_points = [experiments.at(experiment, point) for point in experiments.points(experiment)]
    batches: list[Batch] = [("replay", [(index, experiments.dumped(point))]) for index, point in enumerate(all_points)]
    found: list[tuple[Batch, WorldResult]] = []
    for count, one in enumerate(process_pool(2)(batches, Options())):
        found.append(one)
        if count == 0:
            os.kill(children()[0], signal.SIGKILL)
    assert sorted(batch[1][0][0] for batch, _ in found) == list(range(POINTS))
    assert list(scratch.iterdir()) == []
    assert all(result.rows == work(batch, Options(jobs=1)).rows for batch, result in found)


def test_a_worker_killed_in_the_middle_of_a_message_is_replaced(experiment: Experiment) -> None:
    """Its result is larger than the pipe's buffer, so it blocks in the middle of the message until
    it is read.
    """
    texts = [experiments.dumped(experiments.at(experiment, point)) for point in experiments.points(experiment)]
    batches: list[Batch] = [("replay", list(enumerate(texts * 20))) for _ in range(2)]
    runs = process_pool(2)(batches, Options())
    results = [next(runs)]
    os.kill(next(child for child in children() if waits_to_write(child)), signal.SIGKILL)
    results += runs
    assert [len(result.rows) for _, result in results] == [20 * ROWS] * 2
    assert results[0][1].rows == results[1][1].rows


def test_a_script_that_runs_a_sweep_is_not_run_again_in_its_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    lines = (
        "import swaplab",
        "print('once')",
        "assert len(swaplab.Trace.bundled('djpeg').replay(['clock'], ['5%', '10%'], jobs=2).rows()) == 2",
    )
    script.write_text("\n".join(lines))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "once\n"), done.stderr


def children() -> list[int]:
    """The processes that this one has started."""
    return [int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]


def waits_to_write(pid: int) -> bool:
    """Whether the process blocks in a write within some seconds."""
    numbers = {"x86_64": "1", "aarch64": "64"}[os.uname().machine]
    for _ in range(400):
        if Path(f"/proc/{pid}/syscall").read_text().split()[0] == numbers:
            return True
        time.sleep(0.01)
    return False


def test_a_dask_cluster_that_loses_a_worker_gives_the_same(experiment: Experiment, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed (swaplab[cluster])")
    whole = document_bytes(experiment)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        on_cluster = dask_cluster(cluster.scheduler_address)

        def killing(batches: list[Batch], options: Options) -> Iterator[tuple[Batch, WorldResult]]:
            single: list[Batch] = [(key, [point]) for key, points in batches for point in points]
            for count, found in enumerate(on_cluster(single, options)):
                # The cluster has few batches at any time, so its memory does not grow with the
                # sweep.
                assert len(cluster.scheduler.tasks) <= 12
                if count == 3:
                    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
                yield found

        assert document_bytes(experiment, killing, Store(tmp_path / "dask")) == whole
        done = swaplab("run", tmp_path / "sweep.toml", "--cluster", cluster.scheduler_address, "--json")
        assert done.code == 0 and done.out.encode() == swaplab("run", tmp_path / "sweep.toml", "--jobs", 1, "--json").out.encode()


def test_workers_end_with_the_run_that_was_killed(experiment: Experiment, tmp_path: Path) -> None:
    (tmp_path / "small.csv").write_text("page,op\n" + "".join(f"{at % 97},W\n" for at in range(400_000)))
    call = [SWAPLAB, "run", tmp_path / "sweep.toml", "--jobs", "2", "-o", tmp_path / "cut"]
    # The workers keep the message pipe open, so it closes when the last of them has ended.
    assert interrupted(call, tmp_path / "cut" / PARTS, signal.SIGKILL, alone=True)


def test_a_link_as_folder_of_parts_is_refused(experiment: Experiment, tmp_path: Path) -> None:
    """The content of the folder of parts is deleted at the end, so a link there must not be
    followed.
    """
    mine, run = tmp_path / "mine", tmp_path / "run"
    mine.mkdir()
    run.mkdir()
    (mine / "letter").write_text("dear")
    (run / PARTS).symlink_to(mine)
    swaplab("run", tmp_path / "sweep.toml", "--jobs", "1", "-o", run, "--resume").refuses("parts: a link")
    assert (mine / "letter").read_text() == "dear"
