"""`swaplab papers check`: every claim of the papers, what comes out here, and the verdict."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from swaplab.cli import options as o

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What the papers claim, and what comes out here.")


def register(parent: typer.Typer) -> None:
    """Add the subcommand."""
    parent.add_typer(app, name="papers")


@app.callback()
def papers() -> None:
    """What the papers claim, and what comes out here."""


@app.command("check")
def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME..]", help="Papers, by the folders' names (default: all).")] = None,
    as_json: o.JsonOption = False,
) -> None:
    """Measure every claim and give its verdict."""
    from swaplab.papers import document

    found = document(names or [])
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for claim in found["claims"]:
        print(f"{claim['paper']}: {claim['claim']}")
        print(f"    published {claim['published']}; ours {claim['ours'] or '-'}; {claim['verdict']}: {claim['why']}")
    verdicts = [claim["verdict"] for claim in found["claims"]]
    # Arithmetic, premise-built and inconsistent claims are no successes, so they are counted apart.
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    print(f"{len(verdicts)} claims: {counted}")
