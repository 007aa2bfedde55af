"""`swaplab compressibility`: sample the memory of running programs, for the schemes that compress."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab.cli import options as o


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("compressibility")(compressibility)


def compressibility(
    pids: Annotated[list[int], typer.Argument(help="Running programs.")],
    source: Annotated[str, typer.Option(help="What they are, in words: the file must say what was sampled.")],
    output: Annotated[Path, typer.Option("-o", help="The distribution file to write.")],
    most: Annotated[int, typer.Option(min=100, help="Pages to sample at most.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the drawing of pages.")] = 0,
    as_json: o.JsonOption = False,
) -> None:
    """Compress anonymous pages of running programs and write how small they get (for `zram:content=FILE`)."""
    from swaplab import BadInput
    from swaplab.compressibility import distribution, sample
    from swaplab.run_folder import replace

    if '"' in source or "\\" in source or not source.strip():
        raise BadInput(f"--source {source!r}; expected some words without quotes or backslashes")
    text = distribution(sample(pids, most, seed), source)
    replace(output, text.encode())
    summary = text.splitlines()[1:4]
    o.say(as_json, "\n".join(summary), kind="measured", output=str(output), summary=summary)
