"""`swaplab rerun`: run the experiment of a finished run again, and compare the figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from swaplab import __version__
from swaplab.analysis.rerun import Agreement, agreements, is_exact
from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.core import document as documents
from swaplab.core.files import path_for_message
from swaplab.worlds import run
from swaplab.worlds.result import Options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rerun")(rerun)


def rerun(
    place: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or the JSON document of a run; it may have been moved.")],
    jobs: o.Jobs = 0,
    as_json: o.Json = False,
) -> None:
    """Run a finished run's experiment again and compare row by row: simulated and virtual rows
    exactly, measured ones by their intervals.

    Exit code 1 if they differ.
    """
    before = documents.read(place)
    if (then := before.versions.get("swaplab")) != __version__:
        print(f"note: the run was made with swaplab {then}, this is {__version__}", file=sys.stderr)
    with bar(before.name) as listener:
        after = run(before.experiment, Options(jobs=jobs, listener=listener), place=path_for_message(place)).document
    compared = agreements(before, after)
    if as_json:
        print(json.dumps({"run": path_for_message(place), "rows": [agreement.model_dump() for agreement in compared]}, indent=2))
    else:
        for agreement in compared:
            _print_difference(agreement)
        exact = all(is_exact(row) for row in before.rows)
        same = sum(agreement.agrees for agreement in compared)
        print(f"{same} of {len(compared)} rows {'identical' if exact else 'agree'}")
    if not all(agreement.agrees for agreement in compared):
        raise typer.Exit(1)


def _print_difference(agreement: Agreement) -> None:
    if not agreement.agrees:
        print(f"differs: {agreement.world}, {agreement.design}{f', {agreement.point}' if agreement.point else ''}: {agreement.why}")
