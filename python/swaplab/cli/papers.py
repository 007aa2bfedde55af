"""`swaplab papers check`: every claim of the papers, what comes out here, and the verdict."""

from __future__ import annotations

import json

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(app: Parser) -> None:
    """Add the subcommand and what stands below it."""
    papers = app.group("papers", "What the papers claim, and what comes out here.")
    command = papers.command("sensitivity", sensitivity)
    command.add_argument("name", metavar="NAME", help="A paper with a sensitivity.toml: a2s.")
    command.add_argument("--seeds", type=o.whole(1), help="Runs of each phone; default: as the file says.")
    for add in (o.add_jobs, _add_write, o.add_json):
        add(command)
    command = papers.command("check", check)
    command.add_argument("names", metavar="[NAME..]", nargs="*", help="Papers, by the folders' names (default: all).")
    _add_write(command)
    o.add_json(command)


def _add_write(command: Parser) -> None:
    command.add_argument("--write", action="store_true", help="Also put the table into papers/NAME/README.md.")


def sensitivity(name: str, seeds: int | None, jobs: int, write: bool, as_json: bool) -> None:
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


def check(names: list[str], write: bool, as_json: bool) -> None:
    """Measure every claim and give its verdict."""
    from swaplab.papers import claim_table, document, write_table

    found = document(names)
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
