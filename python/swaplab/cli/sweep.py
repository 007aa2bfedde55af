"""`swaplab sweep`: every point of an experiment, on this machine's cores or on a Dask cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from swaplab.cli.options import JsonOption
from swaplab.cli.progress import bar


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("sweep")(sweep)


def sweep(
    experiment: Annotated[Path, typer.Argument(metavar="EXP.toml", help="An experiment file with a [sweep] table.")],
    output: Annotated[Path, typer.Option("-o", metavar="DIR", help="Folder for results.parquet, manifest, summary and report.")],
    set: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as replay.memory=20%.")] = None,
    cluster: Annotated[str, typer.Option(help="local, or the address of a Dask scheduler, tcp://HOST:PORT.")] = "local",
    jobs: Annotated[int, typer.Option("--jobs", min=0, help="Worker processes of a local sweep; 0: one a core.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a sweep that was cut short; what is done is not repeated.")] = False,
    as_json: JsonOption = False,
) -> None:
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
    typer.echo(f"results: {output / 'results.parquet'}")
    typer.echo(f"report: {output / 'report.html'}")


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
