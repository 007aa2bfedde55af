"""`swaplab compare`: runs against a baseline run; exit code 1 on a regression."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("compare", compare)
    command.add_argument("runs", metavar="RUN..", nargs="+", help="Run folders or JSON documents; NAME=RUN names one.")
    command.add_argument("--baseline", metavar="NAME", help="The run to compare with; default: the first.")
    text = "Exit with 1 if an outcome is more than PCT percent worse."
    command.add_argument("--fail-above", type=o.number(0), metavar="PCT", help=text)
    command.add_argument("--html", type=Path, help="Also write the comparison as one offline HTML page.")
    o.add_json(command)


def compare(runs: list[str], baseline: str | None, fail_above: float | None, html: Path | None, as_json: bool) -> None:
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
        sys.exit(1)


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
