"""`swaplab advise`: advice on zRAM, swappiness and lmkd for a user's launches on a current phone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from swaplab.analysis import advise as advice
from swaplab.analysis.outcomes import BY_PATH
from swaplab.analysis.recommend.result import Recommendation, SettingAdvice
from swaplab.cli import options as o
from swaplab.cli.output import write_result
from swaplab.cli.progress import bar
from swaplab.cli.table import print_columns
from swaplab.core import experiment as experiments
from swaplab.core import launch_list
from swaplab.core.files import path_for_message
from swaplab.core.model import Document
from swaplab.worlds import run
from swaplab.worlds.result import Options

#: The preset whose apps are used; it has the sizes of current apps.
APPS = "android-15"
SHOWN = ("launches.delay_ms.mean", "launches.cold", "paging.flash_write_bytes", "energy.total_j")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("advise")(advise)


def advise(
    launches: Annotated[Path, typer.Argument(metavar="LAUNCHES", help="A CSV of app launches.")],
    machine: Annotated[str, typer.Option("--machine", metavar="M", help="A phone of `swaplab list machines`.")] = APPS,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="C", help="Columns of the file: time=..,app=..,foreground=..,category=.. (default: t_s,app,fg_s)."
        ),
    ] = None,
    first: Annotated[int, typer.Option("--first", min=1, metavar="N", help="Use the first N launches.")] = 128,
    draws: Annotated[int, typer.Option("--draws", min=1, max=1000, metavar="N", help="Number of runs; each draws its own app sizes.")] = 4,
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="PATH", help="The figure to lower (default: launches.delay_ms.mean).")
    ] = None,
    set: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the machine or of workload.apps.")] = [],
    jobs: o.Jobs = 0,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write a folder with report.html here.")] = None,
    as_json: o.Json = False,
) -> None:
    """Advise on zram, swappiness and lmkd for one user's launches, with intervals, and say what could not be decided."""
    base = experiments.read(APPS, [f"machine.base={machine}", *set])
    with tempfile.TemporaryDirectory() as folder:
        # The file keeps its name, which is the name of the workload in tables.
        mapped = Path(folder) / launches.with_suffix(".csv").name
        launch_list.convert(launches, mapped, launch_list.parse_columns(columns), first)
        wanted = experiments.resolve(advice.experiment(base, str(mapped), draws), "advise")
        with bar(f"advising on {path_for_message(launches.name)}") as listener:
            document = run(wanted, Options(jobs=jobs, listener=listener), place="advise").document
    recommendation = advice.advise(document, goal)
    if output is not None:
        write_result(recommendation, output, "advice")
    print(recommendation.model_dump_json(indent=2)) if as_json else _print_advice(recommendation, document)


def _print_advice(recommendation: Recommendation, document: Document) -> None:
    head = ("setting", "now", "tried", "advice", *(BY_PATH[path].words for path in SHOWN))
    print_columns([head, *(line for setting in recommendation.settings for line in _lines(setting))], left=(0, 1, 2, 3))
    tight = advice.memory_is_tight(document)
    print("memory was tight without swap" if tight else "memory was never tight, even without swap: this user needs none of it")
    print(recommendation.diff or "nothing is advised: no change alone is shown to be better")
    for setting in recommendation.settings:
        if setting.recommended is None and setting.values:
            print(f"not decided: {setting.name}: {setting.why}")
    for line in recommendation.warnings:
        print(f"note: {line}")
    print(
        f"{recommendation.kind}; changes in percent against '{recommendation.baseline}'; "
        f"intervals over {len(recommendation.units)} draws of app sizes, at {100 * recommendation.confidence:g} % "
        f"for all {recommendation.comparisons} comparisons together; one user: nothing is shown about others"
    )


def _lines(setting: SettingAdvice) -> list[tuple[str, ...]]:
    lines = []
    for value in setting.values:
        effects = {effect.path: effect.text("").strip() for effect in value.effects}
        action = "set it" if value.value == setting.recommended else ""
        lines.append((setting.name, setting.now or "-", value.value, action, *(effects.get(path, "-") for path in SHOWN)))
    return lines
