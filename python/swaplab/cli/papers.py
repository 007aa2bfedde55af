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


Write = Annotated[bool, typer.Option("--write", help="Also put the table into papers/NAME/README.md.")]


@app.command("sensitivity")
def sensitivity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A paper with a sensitivity.toml: a2s.")],
    seeds: Annotated[int | None, typer.Option(min=1, max=o.MOST, help="Runs of each phone; default: as the file says.")] = None,
    jobs: o.JobsOption = 0,
    write: Write = False,
    as_json: o.JsonOption = False,
) -> None:
    """Vary each assumed parameter of the phone over its range and say which conclusions hold in all of it."""
    from swaplab.cli.progress import bar
    from swaplab.papers import write_table
    from swaplab.sensitivity import HEAD, markdown, table

    with bar(f"varying {name}") as listener:
        found = table(name, seeds, jobs, listener)
    if write:
        write_table(name, HEAD, markdown(found))
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for one in found["conclusions"]:
        span = "nothing to compare" if one["least"] is None else f"ratio {one['least']:.3f} to {one['most']:.3f}"
        print(f"{'holds' if one['stated'] else 'not stated'}: {one['claim']} ({one['holds']} of {one['phones']} phones, {span})")
    print(f"simulated: {found['preset']}, {found['seeds']} seeds, one assumed parameter at a time")


@app.command("check")
def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME..]", help="Papers, by the folders' names (default: all).")] = None,
    write: Write = False,
    as_json: o.JsonOption = False,
) -> None:
    """Measure every claim and give its verdict."""
    from swaplab.papers import claim_table, document, write_table

    found = document(names or [])
    if write:
        for paper in dict.fromkeys(claim["paper"] for claim in found["claims"]):
            write_table(paper, "| claim |", claim_table([claim for claim in found["claims"] if claim["paper"] == paper]))
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
