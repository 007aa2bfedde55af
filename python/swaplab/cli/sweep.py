"""`swaplab sweep`: every point of an experiment, on this machine's cores or on a Dask cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("sweep", sweep)
    command.add_argument("experiment", metavar="EXP.toml", type=Path, help="An experiment file with a [sweep] table.")
    text = "Folder for results.parquet, manifest, summary and report."
    command.add_argument("-o", dest="output", metavar="DIR", type=Path, required=True, help=text)
    o.add_set(command, "replay.memory=20%%")
    command.add_argument("--cluster", default="local", help="local, or the address of a Dask scheduler, tcp://HOST:PORT.")
    command.add_argument("--jobs", type=o.whole(0), default=0, help="Worker processes of a local sweep; 0: one a core.")
    text = "Go on with a sweep that was cut short; what is done is not repeated."
    command.add_argument("--resume", action="store_true", help=text)
    o.add_json(command)


def sweep(experiment: Path, output: Path, set: list[str] | None, cluster: str, jobs: int, resume: bool, as_json: bool) -> None:
    """Run every point of a sweep; results.parquet is the same bytes for any number of workers."""
    from swaplab.experiment import read_experiment
    from swaplab.sweep.folder import sweep_to_folder

    resolved = read_experiment(experiment, set or [])
    with bar(f"sweeping {experiment.name}") as listener:
        document = sweep_to_folder(resolved, output, cluster, jobs, resume, listener, str(experiment))
    if as_json:
        print(json.dumps(document, indent=2))
        return
    _table(document)
    print(f"results: {output / 'results.parquet'}")
    print(f"report: {output / 'report.html'}")


def _table(document: dict[str, Any]) -> None:
    """The points that no other beats."""
    import polars as pl

    from swaplab.cli.replay import print_columns
    from swaplab.report.pareto import front
    from swaplab.report.sweep import NAMED, scale, words

    first, second = document["sweep"]["objectives"]
    frame = pl.DataFrame(document["points"], infer_schema_length=None)
    valid = frame.filter(~pl.col("filter_limited")) if "filter_limited" in frame.columns else frame
    best = front(valid, first, second)
    names = [*(name for name in NAMED if name in best.columns), *document["sweep"]["varied"]]
    rows: list[tuple[str, ...]] = [(*names, words(first), words(second))]
    rows += [(*(str(row[n]) for n in names), *(f"{row[n] * scale(n):,.6g}" for n in (first, second))) for row in best.iter_rows(named=True)]
    print_columns(rows, left=tuple(range(len(names))))
    print(f"{document['kind']}; {best.height} of {valid.height} outcomes that no other beats in both")
