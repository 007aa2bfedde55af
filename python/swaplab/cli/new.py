"""`swaplab new`: a new experiment file from a preset, or a new device file from a built-in
device.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab import BadInput, _core
from swaplab.core.experiment import PRESETS
from swaplab.core.files import path_for_message, write_whole
from swaplab.core.presets import presets

DEFAULT = "replay"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("new")(new)


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, such as x.toml; it must not exist.")],
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="KEY", help=f"A preset of `swaplab list presets` (default: {DEFAULT}).")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="KEY", help="Write the file of this device, not an experiment: `swaplab list devices`."),
    ] = None,
) -> None:
    """Write an experiment file to start from, which runs without changes, or a device file."""
    if device is not None and preset is not None:
        raise BadInput("--device: a device has no preset; expected --device or --preset")
    known = presets()
    if preset is not None and preset not in known:
        raise BadInput(f"--preset: unknown preset '{preset}'; expected one of: {' '.join(known)}")
    if file.exists():
        raise BadInput(f"{path_for_message(file)}: exists already; expected the name of a new file")
    if device is not None:
        write_whole(file, _core.device_text(device).encode())
        print(f"{path_for_message(file)} written; use it: --set machine.devices.MEDIUM={path_for_message(file)}")
        return
    write_whole(file, (PRESETS / f"{preset or DEFAULT}.toml").read_bytes())
    print(f"{path_for_message(file)} written; run it: swaplab run {path_for_message(file)}")
