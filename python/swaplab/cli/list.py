"""`swaplab list`: the entries of the registries, with parameters and sources."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab.core.registry import KINDS, rows


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_kind)


def list_kind(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=" ".join(KINDS))],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List policies, schemes, devices and so on: keys, descriptions, parameters with defaults,
    sources.
    """
    if kind not in KINDS:
        raise BadInput(f"list: unknown kind '{kind}'; expected one of: {' '.join(KINDS)}")
    entries = rows(kind)
    if as_json:
        print(json.dumps({kind: [row.model_dump() for row in entries]}, indent=2))
        return
    width = max(len(row.key) for row in entries)
    for row in entries:
        print(f"{row.key:<{width}}  {row.what}")
        for parameter in row.parameters:
            setting = f"; sets {parameter.setting.name}" if parameter.setting else ""
            print(f"{'':<{width}}    {parameter.name}={parameter.default}: {parameter.meaning}{setting}")
        if row.source:
            print(f"{'':<{width}}    source: {row.source}")
