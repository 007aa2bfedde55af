"""`swaplab list`: what there is, with parameters and sources."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from swaplab import BadInput, _core
from swaplab.cli import options as o
from swaplab.cli.parser import Parser

#: What can be listed: a function that gives rows as JSON. A row has `key` and `what`; the rest is shown below them.
TABLES: dict[str, Callable[[], str]] = {
    "policies": _core.policies,
    "schemes": _core.schemes,
    "devices": _core.devices,
    "apps": _core.app_kinds,
    "formats": _core.trace_formats,
}


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("list", list_what)
    command.add_argument("what", metavar="WHAT", help=f"One of: {' '.join(TABLES)}.")
    o.add_json(command)


def list_what(what: str, as_json: bool) -> None:
    """List policies, schemes, devices, kinds of apps or formats."""
    if what not in TABLES:
        raise BadInput(f"list: unknown table '{what}'; expected one of: {' '.join(TABLES)}")
    rows: list[dict[str, Any]] = json.loads(TABLES[what]())
    if as_json:
        print(json.dumps({"schema": 1, "kind": "simulated", what: rows}, indent=2))
        return
    width = max(len(row["key"]) for row in rows) + 2
    for row in rows:
        print(f"{row['key']:<{width}}{row['what']}")
        for parameter in row.get("parameters", []):
            print(f"{'':<{width}}  {parameter['name']}={parameter['default']}: {parameter['meaning']}")
        for name in ("source", "signal", "medium", "sources", "assumed"):
            if value := row.get(name):
                print(f"{'':<{width}}  {name}: {'; '.join(value) if isinstance(value, list) else value}")
