"""`swaplab new`: a new experiment file from a preset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab.core.experiment import PRESETS
from swaplab.core.files import path_for_message, write_whole
from swaplab.core.presets import presets

DEFAULT = "replay"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("new")(new)


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, such as x.toml; it must not exist.")],
    preset: Annotated[str, typer.Option("--preset", metavar="KEY", help="A preset of `swaplab list presets`.")] = DEFAULT,
) -> None:
    """Write an experiment file to start from; it runs without changes."""
    known = presets()
    if preset not in known:
        raise BadInput(f"--preset: unknown preset '{preset}'; expected one of: {' '.join(known)}")
    if file.exists():
        raise BadInput(f"{path_for_message(file)}: is there already; expected the name of a new file")
    write_whole(file, (PRESETS / f"{preset}.toml").read_bytes())
    print(f"{path_for_message(file)} written; run it: swaplab run {path_for_message(file)}")
