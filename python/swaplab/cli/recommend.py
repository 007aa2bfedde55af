"""`swaplab recommend`: what to set on a device, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab import report
from swaplab.analysis.recommend import recommend as recommended
from swaplab.analysis.recommend.result import Recommendation
from swaplab.cli import options as o
from swaplab.cli.compare import named_runs
from swaplab.core.files import try_output, write_whole


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("recommend")(recommend)


def recommend(
    runs: Annotated[list[str], typer.Argument(metavar="RUN..", help="Run folders or JSON documents; NAME=RUN names one.")],
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="PATH", help="The figure that is to be less (default: launches.delay_ms.mean).")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="NAME", help="The option that is set now (default: the first).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Also write the recommendation as one offline HTML page.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Recommend zram, swappiness, watermarks and lmkd settings from finished runs, as a diff with its evidence; nothing where the evidence
    does not separate the options."""
    if output is not None:
        try_output(output)
    named = named_runs(runs)
    found = recommended(named, goal, baseline)
    if output is not None:
        write_whole(output, report.page([("recommendation", found)], ", ".join(name for name, _ in named)).encode())
    print(found.model_dump_json(indent=2)) if as_json else _say(found)


def _say(found: Recommendation) -> None:
    print(found.diff or "nothing is recommended: no setting stands out")
    print()
    for one in found.settings:
        print(f"{one.name} = {one.now or '-'}" + (f" -> {one.recommended}" if one.recommended is not None else ""))
        print(f"    {one.why}")
        for value in one.values:
            for effect in value.effects if value.value == one.recommended else []:
                if effect.path != found.goal and effect.separated:
                    print(f"    {effect.text(effect.path)}")
    if found.together:
        for effect in found.together.effects:
            if effect.path == found.goal:
                print(f"all at once ({found.together.option}): {effect.text(effect.path)}")
    elif found.diff.count("\n+") > 2:
        print("all at once was not tried: effects of single settings need not add up")
    for line in found.warnings:
        print(f"note: {line}")
    print(
        f"{found.kind}; {found.options} options, {len(found.units)} units; intervals hold at {100 * found.confidence:g} % for all "
        f"{found.comparisons} comparisons together; against '{found.baseline}'"
    )
