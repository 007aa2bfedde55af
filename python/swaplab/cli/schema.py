"""`swaplab schema`: the JSON schema of the experiment file (for editors) or of the document."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from swaplab import BadInput, _core


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(of: Annotated[str, typer.Argument(metavar="[experiment|document]", help="The schema to print.")] = "experiment") -> None:
    """Print the JSON schema of the experiment file or of the document."""
    if of not in ("experiment", "document"):
        raise BadInput(f"'{of}': no such schema; expected experiment or document")
    print(json.dumps(json.loads(_core.schema(of)), indent=2))
