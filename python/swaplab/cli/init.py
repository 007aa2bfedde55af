"""`swaplab init`: an experiment file to start from."""

from __future__ import annotations

from pathlib import Path

from swaplab import BadInput
from swaplab.cli import options as o
from swaplab.cli.parser import Parser

#: A preset is one file here.
PRESETS = Path(__file__).parent.parent / "presets"


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("init", init)
    text = "The file to write; it must not exist."
    command.add_argument("file", metavar="EXP.toml", nargs="?", type=Path, default=Path("experiment.toml"), help=text)
    presets = " ".join(sorted(path.stem for path in PRESETS.glob("*.toml")))
    command.add_argument("--preset", default="replay", help=f"One of: {presets}.")
    o.add_json(command)


def init(file: Path, preset: str, as_json: bool) -> None:
    """Write an experiment file to start from, with every choice explained."""
    from swaplab.run_folder import replace

    found = {path.stem: path for path in sorted(PRESETS.glob("*.toml"))}
    if preset not in found:
        raise BadInput(f"--preset '{preset}': no such preset; expected one of: {' '.join(found)}")
    if file.exists():
        raise BadInput(f"{file}: is there already; expected a name that is free")
    replace(file, found[preset].read_bytes())
    o.say(as_json, str(file), preset=preset, output=str(file))
