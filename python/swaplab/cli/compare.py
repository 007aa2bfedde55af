"""`swaplab compare`: runs against a baseline run; exit code 1 on a regression."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from swaplab.cli.options import JsonOption


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("compare")(compare)


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN..", help="Run folders or JSON documents; NAME=RUN names one.")],
    baseline: Annotated[str | None, typer.Option(metavar="NAME", help="The run to compare with; default: the first.")] = None,
    fail_above: Annotated[
        float | None, typer.Option(metavar="PCT", min=0, help="Exit with 1 if an outcome is more than PCT percent worse.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write the comparison as one offline HTML page.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs outcome by outcome: the same trace, policy or scheme, and memory."""
    from swaplab.compare import compare as compared
    from swaplab.run_folder import read_run, replace, run_name

    named = []
    for run in runs:
        name, equals, place = run.partition("=")
        named.append((name, read_run(place)) if equals and not Path(run).exists() else (run_name(run), read_run(run)))
    document = compared(named, baseline, fail_above)
    if html is not None:
        from swaplab.report import page

        replace(html, page(", ".join(name for name, _ in named), [("comparison", document)]).encode())
    print(json.dumps(document, indent=2)) if as_json else _table(document)
    if document["comparison"]["regressions"]:
        raise typer.Exit(1)


def _table(document: dict[str, Any]) -> None:
    from swaplab.cli.replay import print_columns

    found = document["comparison"]
    rows: list[tuple[str, ...]] = [("run", "what", "memory", "metric", found["baseline"], "run's", "ratio", "")]
    for row in found["outcomes"]:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f}"
        numbers = (f"{row['baseline_value']:,.6g}", f"{row['value']:,.6g}", ratio, "regression" if row["regression"] else "")
        rows.append((row["run"], row["case"], row["memory"], row["metric"], *numbers))
    print_columns(rows, left=(0, 1, 3, 7))
    for mean in found["means"]:
        print(f"{mean['run']}, {mean['metric']}: {mean['mean_ratio']:.4f} of {found['baseline']} (geometric mean of {mean['outcomes']})")
    kinds = {run["kind"] for run in found["runs"]}
    print(f"{' and '.join(sorted(kinds))}" + ("; kinds differ: a model is not a measurement" if len(kinds) > 1 else ""))
    for line in found["missing"]:
        print(f"not compared: {line}")
    if found["fail_above_percent"] is not None:
        print(f"{found['regressions']} outcomes are more than {found['fail_above_percent']:g} % worse")
