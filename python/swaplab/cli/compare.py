"""`swaplab compare`: comparison of runs with a baseline run; exit code 1 on a regression."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab import report
from swaplab.analysis.compare import Comparison
from swaplab.analysis.compare import compare as compared
from swaplab.cli import options as o
from swaplab.cli.table import print_columns
from swaplab.core import document as documents
from swaplab.core.files import try_output, write_whole
from swaplab.core.model import Document


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def named_runs(runs: list[str]) -> list[tuple[str, Document]]:
    """Read documents with their names, from `NAME=RUN` or `RUN`."""
    named = []
    for run in runs:
        name, equals, place = run.partition("=")
        given = bool(equals) and not Path(run).exists()
        named.append((name, documents.read(place)) if given else (documents.run_name(run), documents.read(run)))
    return named


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN..", help="Run folders or JSON documents; NAME=RUN names one.")],
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="NAME", help="The run to compare with (default: the first).")
    ] = None,
    fail_above: Annotated[
        float | None, typer.Option("--fail-above", min=0, metavar="PCT", help="Exit with 1 if a figure is more than PCT percent worse.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Also write the comparison as one offline HTML page.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Compare runs figure by figure: the same world, workload, design and point."""
    if output is not None:
        try_output(output)
    named = named_runs(runs)
    comparison = compared(named, baseline, fail_above)
    if output is not None:
        write_whole(output, report.page([("comparison", comparison)], ", ".join(name for name, _ in named)).encode())
    print(comparison.model_dump_json(indent=2)) if as_json else _table(comparison)
    if comparison.regressions:
        raise typer.Exit(1)


def _table(comparison: Comparison) -> None:
    rows: list[tuple[str, ...]] = [("run", "design", "point", "figure", comparison.baseline, "run's", "ratio", "")]
    for row in comparison.outcomes:
        ratio = "-" if row.ratio is None else f"{row.ratio:.3f}"
        mark = "regression" if row.regression else "" if row.separated else "no difference shown"
        rows.append((row.run, row.design, row.point or "-", row.path, f"{row.baseline_value:,.6g}", f"{row.value:,.6g}", ratio, mark))
    print_columns(rows, left=(0, 1, 2, 3, 7))
    for mean in comparison.means:
        print(f"{mean.run}, {mean.path}: {mean.mean_ratio:.4f} of {comparison.baseline} (geometric mean of {mean.rows})")
    kinds = {kind for of_run in comparison.kinds.values() for kind in of_run}
    print(" and ".join(sorted(kinds)) + ("; kinds differ: a model is not a measurement" if len(kinds) > 1 else ""))
    for line in comparison.missing:
        print(f"not compared: {line}")
    if comparison.fail_above_percent is not None:
        print(f"{comparison.regressions} figures are more than {comparison.fail_above_percent:g} % worse")
