"""`swaplab recommend`: recommended settings of a device, with their evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab import report
from swaplab.analysis.recommend import recommend as recommended
from swaplab.analysis.recommend.result import Recommendation
from swaplab.analysis.verdict import plural
from swaplab.cli import options as o
from swaplab.cli.compare import named_runs
from swaplab.core.files import try_output, write_whole


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("recommend")(recommend)


def recommend(
    runs: Annotated[list[str], typer.Argument(metavar="RUN..", help="Run folders or JSON documents; NAME=RUN names one.")],
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="PATH", help="The figure to lower (default: launches.delay_ms.mean).")
    ] = None,
    baseline: Annotated[str | None, typer.Option("--baseline", metavar="NAME", help="The option in use now (default: the first).")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Also write the recommendation as one offline HTML page.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Recommend zram, swappiness, watermark and lmkd settings from finished runs, as a diff with
    its evidence.

    Nothing is recommended if the evidence does not separate the options.
    """
    if output is not None:
        try_output(output)
    named = named_runs(runs)
    recommendation = recommended(named, goal, baseline)
    if output is not None:
        write_whole(output, report.page([("recommendation", recommendation)], ", ".join(name for name, _ in named)).encode())
    print(recommendation.model_dump_json(indent=2)) if as_json else _print_recommendation(recommendation)


def _print_recommendation(recommendation: Recommendation) -> None:
    print(recommendation.diff or "nothing is recommended: the evidence shows no setting better than what runs now")
    print()
    for setting in recommendation.settings:
        print(f"{setting.name} = {setting.now or '-'}" + (f" -> {setting.recommended}" if setting.recommended is not None else ""))
        print(f"    {setting.why}")
        for value in setting.values:
            for effect in value.effects if value.value == setting.recommended else []:
                if effect.path != recommendation.goal and effect.separated:
                    print(f"    {effect.text(effect.path)}")
    if recommendation.together:
        for effect in recommendation.together.effects:
            if effect.path == recommendation.goal:
                print(f"all settings together ({recommendation.together.option}): {effect.text(effect.path)}")
    elif recommendation.diff.count("\n+") > 2:
        print("no run has all of these settings together, and effects of single settings need not add up")
    for line in recommendation.warnings:
        print(f"note: {line}")
    print(
        f"{recommendation.kind}; {plural(recommendation.options, 'option')}, {plural(len(recommendation.units), 'unit')}; "
        f"intervals hold at {100 * recommendation.confidence:g} % simultaneously for {plural(recommendation.comparisons, 'comparison')}; "
        f"against '{recommendation.baseline}'"
    )
