"""A sweep as a run folder: results.parquet, and the manifest, summary and report of any run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from swaplab import BadInput
from swaplab.model import model_of
from swaplab.run_folder import made_with, manifest, replace
from swaplab.sweep.runner import Runner, in_this_process, process_pool, run_sweep


def runner(cluster: str, jobs: int, parallel: bool = True) -> Runner:
    """Where batches run: here, in `jobs` processes (0: one a core), or on a Dask cluster; one after the other where they can't share."""
    if not parallel:
        if cluster != "local":
            raise BadInput(f"--cluster {cluster}: points of a [bench] run one after the other; expected local")
        return in_this_process
    if cluster != "local":
        from swaplab.sweep.cluster import dask_cluster

        return dask_cluster(cluster)
    jobs = jobs or os.cpu_count() or 1
    return process_pool(jobs) if jobs > 1 else in_this_process


def sweep_to_folder(
    experiment: dict[str, Any],
    folder: Path,
    cluster: str = "local",
    jobs: int = 0,
    resume: bool = False,
    listener: Callable[[int, int], None] | None = None,
    place: str = "experiment",
) -> dict[str, Any]:
    """Run a resolved experiment's sweep into `folder`; returns the document that summary.json holds."""
    from swaplab import report

    frame = run_sweep(experiment, folder, runner(cluster, jobs, model_of(experiment).PARALLEL), resume, listener, place)
    document = sweep_document(experiment, frame)
    about = manifest(document, int(experiment["seed"]))
    page = report.page(folder.resolve().name, [("sweep", document)], made_with(about))
    for name, text in (("manifest.json", _json(about)), ("summary.json", _json(document)), ("report.html", page)):
        replace(folder / name, text.encode())
    return document


def sweep_document(experiment: dict[str, Any], frame: pl.DataFrame) -> dict[str, Any]:
    """What the command prints: the points with what varies first, and the point that no other beats in both objectives."""
    model = model_of(experiment)
    varied = [name for name in frame.columns if "." in name or name == "seed"]
    return {
        "schema": 1,
        "kind": model.KIND,
        "experiment": experiment,
        "inputs": model.inputs(experiment),
        "sweep": {"points": frame["index"].n_unique(), "varied": varied, "objectives": list(model.objectives(experiment))},
        "points": frame.drop("hash").to_dicts(),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
