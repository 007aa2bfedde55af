"""`swaplab trace gen`: launches from a seed."""

from __future__ import annotations

import json
from pathlib import Path

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(parent: Parser) -> None:
    """Add the subcommand."""
    command = parent.command("gen", gen)
    text = "small, medium, large (A2S), phone-daily, or zipf:apps=50,alpha=1.45."
    command.add_argument("spec", metavar="SPEC|PRESET", help=text)
    o.add_output(command, "OUT", "The .slt to write.")
    command.add_argument("--seed", type=o.whole(0), default=0, help="The same seed gives the same bytes.")
    o.add_json(command)


def gen(spec: str, output: Path, seed: int, as_json: bool) -> None:
    """Make a trace of app launches."""
    from swaplab import _core

    document = json.loads(_core.trace_gen(spec, seed, output))
    if as_json:
        print(json.dumps({"schema": 1, **document}, indent=2))
    else:
        print(f"{document['launches']} launches of {document['apps']} apps in {output}")
