"""`swaplab trace gen`: launches from a seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab.cli import options as o


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("gen")(gen)


def gen(
    spec: Annotated[
        str, typer.Argument(metavar="SPEC|PRESET", help="small, medium, large (A2S), phone-daily, or zipf:apps=50,alpha=1.45.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="The .slt to write.")],
    seed: Annotated[int, typer.Option("--seed", min=0, max=o.MOST, help="The same seed gives the same bytes.")] = 0,
    as_json: o.JsonOption = False,
) -> None:
    """Make a trace of app launches."""
    from swaplab import _core

    document = json.loads(_core.trace_gen(spec, seed, output))
    if as_json:
        print(json.dumps({"schema": 1, **document}, indent=2))
    else:
        print(f"{document['launches']} launches of {document['apps']} apps in {output}")
