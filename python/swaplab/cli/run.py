"""`swaplab run`: run an experiment in its worlds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.cli.show import show
from swaplab.core import document as documents
from swaplab.core import experiment as experiments
from swaplab.core.files import path_for_message
from swaplab.core.model import Experiment
from swaplab.worlds.result import Options
from swaplab.worlds.run import Outcome, run
from swaplab.worlds.sweep.choice import runner_for
from swaplab.worlds.sweep.store import Store, abandoned_on_error


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run_experiment)


def run_experiment(
    file: o.ExperimentFile,
    set: o.Set = [],
    on: o.On = [],
    output: o.Out = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a stopped run in the folder of -o.")] = False,
    jobs: o.Jobs = 0,
    cluster: Annotated[str, typer.Option("--cluster", metavar="ADDRESS", help="Run points on the Dask scheduler at tcp://HOST:PORT.")] = "",
    target: Annotated[
        str,
        typer.Option("--target", metavar="TARGET", help="World kernel: local, ssh:HOST, adb or adb:SERIAL, for run.kernel.target."),
    ] = "",
    as_root: Annotated[bool, typer.Option("--as-root", help="World kernel: run the apps as root.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print every change to the machine and make none.")] = False,
    as_json: o.Json = False,
) -> None:
    """Run an experiment in its worlds; print a table, and with -o write the document and a
    report.
    """
    changes = [*set, *([f"run.on={o.split_list(on)}"] if on else [])]
    experiment = experiments.read(file, changes)
    if resume and output is None:
        raise BadInput("--resume: no folder; expected -o DIR, the folder of the run that was stopped")
    say = print if dry_run and not as_json else _print_status
    run_options = Options(jobs=jobs, tables=output is not None, target=target, as_root=as_root, dry_run=dry_run, say=say)
    outcome = run_and_write(experiment, run_options, output, resume, cluster, path_for_message(file), resumed_by="--resume")
    if as_json:
        print(documents.dumped(outcome.document), end="")
    elif outcome.document.rows:
        show(outcome.document)
        if output is not None:
            print(f"report: {path_for_message(output / 'report.html')}")


def run_and_write(
    experiment: Experiment,
    options: Options,
    output: Path | None,
    resume: bool = False,
    cluster: str = "",
    place: str = "experiment",
    resumed_by: str = "",
) -> Outcome:
    """Run an experiment, and with `output` write the run folder, whose path is checked before any
    work. `resumed_by`: the option that resumes a stopped run, if the command has one.
    """
    runner = runner_for(len(experiments.points(experiment, place)), options.jobs, cluster)
    store = Store(output, resume, resumed_by) if output is not None else None
    try:
        with abandoned_on_error(store), bar(experiment.name or "running") as listener:
            run_options = Options(**{**vars(options), "listener": listener})
            outcome = run(experiment, run_options, runner, None if options.dry_run else store, place)
    except KeyboardInterrupt:
        if store is None:
            raise
        remedy = f"go on with {resumed_by}" if resumed_by else "remove the folder and run the command again"
        raise KeyboardInterrupt(f"{path_for_message(store.folder)}: stopped; {remedy}") from None
    if store is not None and options.dry_run:
        store.abandon()
    elif store is not None:
        from swaplab.report.folder import files_of  # takes long to import, and most runs write no folder

        store.finish(files_of(outcome))
    return outcome


def _print_status(line: str) -> None:
    print(line, file=sys.stderr)
