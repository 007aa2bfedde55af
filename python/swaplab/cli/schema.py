"""`swaplab schema`: the JSON schema of the experiment file, for editors and tools."""

from __future__ import annotations

import json

import typer


def register(app: typer.Typer) -> None:
    app.command("schema")(schema)


def schema(as_json: bool = typer.Option(False, "--json", help="The schema is JSON already; here for symmetry.", hidden=True)) -> None:
    """Print the JSON schema of the experiment file."""
    from swaplab import _core

    print(json.dumps(json.loads(_core.experiment_schema()), indent=2))
