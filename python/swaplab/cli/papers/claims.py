"""`swaplab papers check` and `sensitivity`: every claim of the papers, what comes out here, and what holds in every phone."""

from __future__ import annotations

from typing import Annotated

import typer

from swaplab.analysis import papers as of_papers
from swaplab.analysis import papers_in_vm
from swaplab.analysis import sensitivity as varied
from swaplab.analysis.papers import Claims, claim_table, write_table
from swaplab.cli import options as o
from swaplab.cli.progress import bar

Write = Annotated[bool, typer.Option("--write", help="Also put the table into papers/NAME/README.md.")]


def register(papers: typer.Typer) -> None:
    """Add the commands."""
    papers.command("check")(check)
    papers.command("sensitivity")(sensitivity)


def check(
    names: Annotated[list[str], typer.Argument(metavar="[NAME..]", help="Papers, by the folders' names (default: all).")] = [],
    vm: Annotated[
        bool, typer.Option("--vm", help="Measure what a kernel under virtual time answers, in place of the rest: minutes a paper.")
    ] = False,
    write: Write = False,
    as_json: o.Json = False,
) -> None:
    """Measure every claim and give its verdict."""
    found = Claims(claims=list(of_papers.check(names, vm)))
    if write:
        head = papers_in_vm.HEAD if vm else "| claim |"
        for paper in dict.fromkeys(claim.paper for claim in found.claims):
            claims = [claim for claim in found.claims if claim.paper == paper]
            table = papers_in_vm.section(paper, papers_in_vm.claim_table(paper, claims)) if vm else claim_table(claims)
            write_table(paper, head, table)
    if as_json:
        print(found.model_dump_json(indent=2))
        return
    for claim in found.claims:
        print(f"{claim.paper}: {claim.claim}")
        print(f"    published {claim.published}; ours {claim.ours or '-'}; {claim.verdict}: {claim.why}")
    verdicts = [claim.verdict for claim in found.claims]
    # Arithmetic, premise-built and inconsistent claims are no successes, so they are counted by themselves.
    print(f"{len(verdicts)} claims: " + ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts)))


def sensitivity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A paper with a sensitivity.toml: a2s.")],
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=10_000, metavar="N", help="Runs of each phone (default: as the file says).")
    ] = None,
    write: Write = False,
    as_json: o.Json = False,
) -> None:
    """Vary each assumed parameter of the phone over its range and say which conclusions hold in all of it."""
    with bar(f"varying {name}") as listener:
        found = varied.sensitivity(name, varied.wanted_of(name), seeds, listener=listener)
    if write:
        write_table(name, varied.HEAD, varied.markdown(found))
    if as_json:
        print(found.model_dump_json(indent=2))
        return
    for one in found.conclusions:
        span = "nothing to compare" if one.least is None else f"ratio {one.least:.3f} to {one.most:.3f}"
        print(f"{'holds' if one.stated else 'not stated'}: {one.claim} ({one.holds} of {one.phones} phones, {span})")
    print(f"simulated: {found.preset}, {found.seeds} seeds, one assumed parameter at a time")
