"""A small experiment with `[vary]`, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from swaplab.core import document as documents
from swaplab.core import experiment as experiments
from swaplab.core.model import Experiment
from swaplab.worlds import run
from swaplab.worlds.result import Options, WorldResult
from swaplab.worlds.sweep.runner import Batch, Runner, in_this_process
from swaplab.worlds.sweep.store import Store

SWEEP = """
[[design]]
policy = ["clock", "lru", "fifo"]
[workload]
trace = "small.csv"
[run]
seed = 3
[vary]
"machine.dram" = { low = 10, high = 90, steps = 9, unit = "%" }
"run.replay.swap_device" = ["optane-m10", "ufs-3.1"]
"""
POINTS, ROWS = 18, 54


def small_experiment(folder: Path) -> Experiment:
    """Build an experiment of 18 points and three designs over a trace of 600 references."""
    lines = [f"{(at * at + at // 7) % 97},{'RWI'[at % 3]}" for at in range(600)]
    (folder / "small.csv").write_text("\n".join(["page,op", *lines]) + "\n")
    (folder / "sweep.toml").write_text(SWEEP)
    return experiments.read(folder / "sweep.toml")


def varied(tmp_path: Path, vary: str, seed: int = 3) -> Experiment:
    """Build the experiment with another `[vary]`."""
    head = SWEEP.partition("[vary]")[0].replace("seed = 3", f"seed = {seed}")
    return experiments.parse(f"{head}[vary]\n{vary}", str(tmp_path / "sweep.toml"))


def one_by_one(batches: list[Batch], options: Options) -> Iterator[tuple[Batch, WorldResult]]:
    """Run each point as a batch of its own, in this process."""
    yield from in_this_process([(key, [point]) for key, points in batches for point in points], options)


def document_bytes(experiment: Experiment, runner: Runner | None = None, store: Store | None = None) -> bytes:
    return documents.dumped(run(experiment, Options(jobs=1), runner, store).document).encode()
