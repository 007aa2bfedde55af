"""`swaplab schema`: the JSON schema of the experiment file, for editors and tools."""

from __future__ import annotations

import json
from argparse import SUPPRESS

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(app: Parser) -> None:
    """Add the subcommand."""
    # The schema is JSON already; here for symmetry.
    o.add_json(app.command("schema", schema), SUPPRESS)


def schema(as_json: bool) -> None:
    """Print the JSON schema of the experiment file."""
    from swaplab import _core

    print(json.dumps(json.loads(_core.experiment_schema()), indent=2))
