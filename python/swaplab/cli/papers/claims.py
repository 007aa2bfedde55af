"""`swaplab papers check` and `sensitivity`: the claims of papers with swaplab's figures, and their sensitivity to assumptions."""

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
    names: Annotated[list[str], typer.Argument(metavar="[NAME..]", help="Papers, by names of folders (default: all).")] = [],
    vm: Annotated[
        bool, typer.Option("--vm", help="Measure only the claims for a kernel under virtual time; takes minutes per paper.")
    ] = False,
    write: Write = False,
    as_json: o.Json = False,
) -> None:
    """Measure every claim and print its verdict."""
    checked = Claims(claims=list(of_papers.check(names, vm)))
    if write:
        for paper in dict.fromkeys(claim.paper for claim in checked.claims):
            claims = [claim for claim in checked.claims if claim.paper == paper]
            if vm:
                write_table(paper, papers_in_vm.HEAD, papers_in_vm.section(paper, papers_in_vm.claim_table(paper, claims)))
            else:
                write_table(paper, of_papers.HEAD, claim_table(claims))
                papers_in_vm.refresh(paper)  # copies the simulated column of the table just written
    if as_json:
        print(checked.model_dump_json(indent=2))
        return
    for claim in checked.claims:
        print(f"{claim.paper}: {claim.claim}")
        print(f"    published {claim.published}; ours {claim.ours or '-'}; {claim.verdict}: {claim.why}")
    verdicts = [claim.verdict for claim in checked.claims]
    # Arithmetic, premise-built and inconsistent claims are not successes, so they are counted separately.
    print(f"{len(verdicts)} claims: " + ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts)))


def sensitivity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A paper or preset with papers/NAME/sensitivity.toml: a2s, android-15.")],
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=10_000, metavar="N", help="Runs of each phone (default: from the file).")
    ] = None,
    write: Write = False,
    as_json: o.Json = False,
) -> None:
    """Vary each assumed parameter of the phone over its range, and print which conclusions hold over all ranges."""
    with bar(f"varying {name}") as listener:
        result = varied.sensitivity(name, varied.wanted_of(name), seeds, listener=listener)
    if write:
        write_table(name, varied.HEAD, varied.markdown(result))
    if as_json:
        print(result.model_dump_json(indent=2))
        return
    for conclusion in result.conclusions:
        span = "nothing to compare" if conclusion.least is None else f"ratio {conclusion.least:.3f} to {conclusion.most:.3f}"
        stated = "holds" if conclusion.stated else "not stated"
        print(f"{stated}: {conclusion.claim} ({conclusion.holds} of {conclusion.phones} phones, {span})")
    print(f"simulated: {result.preset}, {result.seeds} seeds, one assumed parameter at a time")
