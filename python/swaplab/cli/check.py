"""`swaplab check`: which world can run each design, with the reason if it cannot."""

from __future__ import annotations

import json
from itertools import groupby

import typer

from swaplab.cli import options as o
from swaplab.core import experiment as experiments
from swaplab.core.files import path_for_message


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check)


def check(file: o.ExperimentFile, set: o.Set = [], as_json: o.Json = False) -> None:
    """Say which world can run each design of an experiment, and why another cannot."""
    experiment = experiments.read(file, set)
    first = experiments.at(experiment, experiments.points(experiment, path_for_message(file))[0], path_for_message(file))
    answers = experiments.check(first, path_for_message(file))
    if as_json:
        print(json.dumps({"on": first.run.on, "designs": [answer.model_dump() for answer in answers]}, indent=2))
        return
    print("* the experiment runs there")
    for worlds, designs in groupby(answers, key=lambda design: design.worlds):
        print(", ".join(design.design for design in designs))
        for world, answer in worlds.items():
            mark = "*" if world in first.run.on else " "
            print(f" {mark} {world:<8} {'yes' if answer is True else 'no: ' + str(answer).removeprefix(f'{world}: ')}")
