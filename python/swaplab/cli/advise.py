"""`swaplab advise`: advice on zRAM, swappiness and lmkd for a user's launches on a current
phone; of samples of a phone's memory, what they say without launches.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from swaplab import report
from swaplab.analysis import advise as advice
from swaplab.analysis import memory_samples as of_samples
from swaplab.analysis.outcomes import BY_PATH, Outcome
from swaplab.analysis.recommend.result import Recommendation, SettingAdvice
from swaplab.analysis.verdict import amount, plural
from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.cli.table import print_columns
from swaplab.core import experiment as experiments
from swaplab.core import launch_list, memory_samples
from swaplab.core.document import SUMMARY
from swaplab.core.errors import BadInput
from swaplab.core.files import path_for_message
from swaplab.core.model import Document, Experiment, Row
from swaplab.worlds import run
from swaplab.worlds.result import Options
from swaplab.worlds.sweep.store import Store, abandoned_on_error

#: The preset whose machine and apps are used by default; it has the sizes of current apps.
APPS = "android-15"
SHOWN = ("launches.delay_ms.mean", "launches.cold", "paging.flash_write_bytes", "energy.total_j")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("advise")(advise)


@dataclass
class GroupResults:
    """The documents of the groups of designs that were simulated, and why others were not; empty if
    all were.
    """

    documents: list[Document]
    note: str = ""
    is_interrupted: bool = False


def advise(
    launches: Annotated[Path, typer.Argument(metavar="LAUNCHES|SAMPLES", help="A CSV of app launches, or samples of a phone's memory.")],
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="M", help="A phone of `swaplab list machines` (default: that of --apps).")
    ] = None,
    apps: Annotated[
        str, typer.Option("--apps", metavar="FILE", help="Apps and machine: a file of `swaplab trace fit`, or a preset.")
    ] = APPS,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="C", help="Columns of the file: time=..,app=..,foreground=..,category=.. (default: t_s,app,fg_s)."
        ),
    ] = None,
    now: Annotated[
        list[str],
        typer.Option("--now", metavar="KEY=VALUE", help="What the phone has today: vm.swappiness=100, swap=none; repeatable."),
    ] = [],
    first: Annotated[int, typer.Option("--first", min=1, metavar="N", help="Use the first N launches.")] = 96,
    draws: Annotated[int, typer.Option("--draws", min=1, max=1000, metavar="N", help="Number of runs; each draws its own app sizes.")] = 4,
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="PATH", help="The figure to lower (default: launches.delay_ms.mean).")
    ] = None,
    set: Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the machine or of workload.apps.")] = [],
    jobs: o.Jobs = 0,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write a folder with report.html here.")] = None,
    as_json: o.Json = False,
) -> None:
    """Advise on zram, swappiness and lmkd for one user's launches, with intervals, and say what
    could not be decided. Of samples of /proc/meminfo or `dumpsys meminfo` (a file, a folder or a
    CSV), say what they show without launches.
    """
    if memory_samples.is_samples(launches):
        if machine is not None or now or set or goal is not None:
            raise BadInput(
                f"{path_for_message(launches)}: samples of a phone's memory, of which nothing is simulated; "
                "expected no --machine, --now, --set or --goal, or a CSV of launches"
            )
        return _advise_on_samples(launches, columns, output, as_json)
    base = experiments.read(apps, [*([f"machine.base={machine}"] if machine is not None else []), *set])
    # A file's `about` has the errors of the fit; a preset's is a question.
    about = base.about if Path(apps).exists() else ""
    phone = advice.current(base, now)
    store = Store(output) if output is not None else None
    with abandoned_on_error(store):
        with tempfile.TemporaryDirectory() as folder:
            # The file keeps its name, which is the name of the workload in tables.
            mapped = Path(folder) / launches.with_suffix(".csv").name
            launch_list.convert(launches, mapped, launch_list.parse_columns(columns), first)
            wanted = experiments.resolve(advice.experiment(base, str(mapped), draws, phone, about), "advise")
            finished = _simulate(wanted, jobs, f"advising on {path_for_message(launches.name)}")
        document = advice.joined(finished.documents)
        recommendation = advice.advise(document, goal)
        if finished.note:
            recommendation.warnings.append(finished.note)
        if store is not None:
            page = report.page([("advice", recommendation)], "advice", glance=document.rows)
            summary = recommendation.model_dump_json(indent=1) + "\n"
            store.finish({"report.html": page.encode(), SUMMARY: summary.encode()})
    print(recommendation.model_dump_json(indent=2)) if as_json else _print_advice(recommendation, document)
    if output is not None and not as_json:
        print(f"report: {path_for_message(output / 'report.html')}")
    if finished.is_interrupted:
        raise KeyboardInterrupt(f"advise: {finished.note}")


def _advise_on_samples(source: Path, columns: str | None, output: Path | None, as_json: bool) -> None:
    """Print what samples say by themselves, and write it to the folder `output` if one is given."""
    store = Store(output) if output is not None else None
    with abandoned_on_error(store):
        samples = memory_samples.read(source, launch_list.parse_columns(columns)["time"])
        found = of_samples.advise(samples, source)
        if store is not None:
            summary = found.model_dump_json(indent=1) + "\n"
            store.finish({"report.html": report.page([("samples", found)], "samples").encode(), SUMMARY: summary.encode()})
    if as_json:
        print(found.model_dump_json(indent=2))
        return
    print("\n".join([found.verdict, *found.findings, f"zram: {found.zram}", *(f"not decided: {line}" for line in found.undecided)]))
    print("measured; one phone in one span of time: nothing is shown about others")
    if output is not None:
        print(f"report: {path_for_message(output / 'report.html')}")


def _simulate(wanted: Experiment, jobs: int, label: str) -> GroupResults:
    """Simulate the designs in groups until all are done, memory was never tight, or the user
    interrupts.

    Raises KeyboardInterrupt if there are no two designs to compare yet.
    """
    total, first, threads = len(wanted.design), advice.count_tried_first(wanted), jobs or os.cpu_count() or 1
    finished = GroupResults([])

    def count() -> int:
        return sum(len(document.rows) for document in finished.documents)

    with suppress(KeyboardInterrupt), bar(label) as listener:
        finished.is_interrupted = True
        for part in advice.parts(wanted, threads):
            # A group counts as its number of designs, and a finished part of it as a part of them.
            shared = None if listener is None else _scaled(listener, count(), len(part.design), total)
            finished.documents.append(run(part, Options(jobs=jobs, listener=shared), place="advise").document)
            if count() == first < total and not advice.memory_is_tight(advice.joined(finished.documents)):
                finished.note = f"memory was never tight without swap, so the other {total - first} of {total} designs were not simulated"
                break
        finished.is_interrupted = False
    if finished.is_interrupted:
        if not finished.documents:
            raise KeyboardInterrupt("advise: stopped before two designs were simulated")
        finished.note = f"stopped after {count()} of {total} designs: nothing is known about the others"
    return finished


def _scaled(listener: Callable[[int, int], None], before: int, designs: int, total: int) -> Callable[[int, int], None]:
    return lambda done, of: listener(round(100 * (before + designs * done / max(1, of))), 100 * total)


def _print_advice(recommendation: Recommendation, document: Document) -> None:
    head = ("setting", "now", "tried", "advice", *(BY_PATH[path].words for path in SHOWN))
    print_columns([head, *(line for setting in recommendation.settings for line in _lines(setting))], left=(0, 1, 2, 3))
    current = next(row for row in document.rows if row.design == advice.NOW)
    print(f"{advice.NOW}: {', '.join(text for path in SHOWN if (text := _with_unit(BY_PATH[path], current)))}")
    tight = advice.memory_is_tight(document)
    print("memory was tight without swap" if tight else "memory was never tight, even without swap: this user needs none of it")
    print(recommendation.diff or "nothing is advised: no change alone is shown to be better")
    if (together := recommendation.together) is not None:
        for effect in together.effects:
            if effect.path == recommendation.goal:
                print(f"all settings together ({together.option}): {effect.text(BY_PATH[effect.path].words)}")
    without_effect = recommendation.without_effect
    for setting in recommendation.settings:
        if setting.recommended is None and setting.values and setting.name not in without_effect:
            print(("" if setting.keep else "not decided: ") + f"{setting.name}: {setting.why}")
    if without_effect:
        print(f"no effect on {BY_PATH[recommendation.goal].words}, with any value tried: {', '.join(without_effect)}")
    for line in recommendation.warnings:
        print(f"note: {line}")
    print(
        f"{recommendation.kind}; changes in percent against '{recommendation.baseline}'; "
        f"intervals over {len(recommendation.units)} draws of app sizes, at {100 * recommendation.confidence:g} % "
        f"simultaneously for {plural(recommendation.comparisons, 'comparison')}; one user: nothing is shown about others"
    )


def _with_unit(outcome: Outcome, row: Row) -> str:
    """Format the outcome of a row: `mean launch delay 412.3 ms`."""
    value = outcome.value(row)
    return "" if value is None else f"{outcome.words} {amount(value, outcome.unit)}"


def _lines(setting: SettingAdvice) -> list[tuple[str, ...]]:
    lines = []
    for value in setting.values:
        effects = {effect.path: effect.text("").strip() for effect in value.effects}
        action = "set it" if value.value == setting.recommended else ""
        lines.append((setting.name, setting.now or "-", value.value, action, *(effects.get(path, "-") for path in SHOWN)))
    return lines
