"""`swaplab init`: an experiment file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab.cli import options as o

#: A preset is one file here.
PRESETS = Path(__file__).parent.parent / "presets"


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("init")(init)


def init(
    file: Annotated[Path, typer.Argument(metavar="EXP.toml", help="The file to write; it must not exist.")] = Path("experiment.toml"),
    preset: Annotated[str, typer.Option(help=f"One of: {' '.join(sorted(path.stem for path in PRESETS.glob('*.toml')))}.")] = "replay",
    as_json: o.JsonOption = False,
) -> None:
    """Write an experiment file to start from, with every choice explained."""
    from swaplab.run_folder import replace

    found = {path.stem: path for path in sorted(PRESETS.glob("*.toml"))}
    if preset not in found:
        raise BadInput(f"--preset '{preset}': no such preset; expected one of: {' '.join(found)}")
    if file.exists():
        raise BadInput(f"{file}: is there already; expected a name that is free")
    replace(file, found[preset].read_bytes())
    o.say(as_json, str(file), preset=preset, output=str(file))
