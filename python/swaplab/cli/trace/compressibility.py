"""`swaplab trace sample-compressibility`: the compressibility of running programs' memory, for
compressing schemes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab.capture.compressibility import distribution, sample
from swaplab.cli import options as o
from swaplab.core.files import path_for_message, try_output, write_whole


def register(trace: typer.Typer) -> None:
    """Add the command."""
    trace.command("sample-compressibility")(sample_compressibility)


def sample_compressibility(
    pids: Annotated[list[int], typer.Argument(metavar="PID..", min=1, help="Running programs.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The distribution to write, for zram:content=FILE.")],
    source: Annotated[str, typer.Option("--source", metavar="WORDS", help="Description of the programs, which is stored in the file.")],
    most: Annotated[int, typer.Option("--count", min=100, max=o.MOST, metavar="N", help="Maximum number of sampled pages.")] = 20_000,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Compress anonymous pages of running programs and write the distribution of their compressed
    sizes.
    """
    if '"' in source or "\\" in source or not source.strip():
        raise BadInput(f"--source: {source!r}; expected some words without quotes or backslashes")
    try_output(output)
    text = distribution(sample(pids, most, seed), source)
    write_whole(output, text.encode())
    summary = text.splitlines()[1:4]
    print(
        json.dumps({"kind": "measured", "output": path_for_message(output), "summary": summary}, indent=2)
        if as_json
        else "\n".join(summary)
    )
