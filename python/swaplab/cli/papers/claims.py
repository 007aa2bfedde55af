"""`swaplab papers check`, `sensitivity` and `ablation`: every claim of the papers, what comes out
here, what holds in every phone, and what each mechanism of the phone does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab.analysis import ablation as ablation_analysis
from swaplab.analysis import papers as paper_claims
from swaplab.analysis import papers_in_vm
from swaplab.analysis import sensitivity as sensitivity_analysis
from swaplab.analysis.papers import Claims
from swaplab.analysis.papers_readme import claim_table, stamp, write_table
from swaplab.analysis.verdict import plural
from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.core.errors import BadInput

Write = Annotated[bool, typer.Option("--write", help="Also put the table into papers/NAME/README.md.")]


def register(papers: typer.Typer) -> None:
    """Add the commands."""
    papers.command("check")(check)
    papers.command("sensitivity")(sensitivity)
    papers.command("ablation")(ablation)


def check(
    names: Annotated[list[str], typer.Argument(metavar="[NAME..]", help="Papers, by names of folders (default: all).")] = [],
    vm: Annotated[
        bool, typer.Option("--vm", help="Measure only the claims for a kernel under virtual time; takes minutes per paper.")
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option("--traces", metavar="DIR", help="Measure on the traces of this folder: spo-clock."),
    ] = None,
    write: Write = False,
    as_json: o.Json = False,
) -> None:
    """Measure every claim and give its verdict."""
    if traces is not None and (vm or write):
        raise BadInput("papers check: --traces with --vm or --write; expected --traces alone")
    checked = Claims(claims=list(paper_claims.check(names, vm)) if traces is None else paper_claims.check_on(traces, names))
    if write:
        for paper in dict.fromkeys(claim.paper for claim in checked.claims):
            claims = [claim for claim in checked.claims if claim.paper == paper]
            if vm:
                write_table(paper, papers_in_vm.HEAD, papers_in_vm.section(paper, papers_in_vm.claim_table(paper, claims)))
            else:
                write_table(paper, paper_claims.HEAD, claim_table(claims))
                stamp(paper)
                papers_in_vm.refresh(paper)  # shows the simulated column of the table just written
    if as_json:
        print(checked.model_dump_json(indent=2))
        return
    for claim in checked.claims:
        print(f"{claim.paper}: {claim.claim}")
        print(f"    published {claim.published}; ours {claim.ours or '-'}; {claim.verdict}: {claim.why}")
    verdicts = [claim.verdict for claim in checked.claims]
    # Arithmetic, premise-built and inconsistent claims are not successes, so they are counted
    # separately.
    print(f"{plural(len(verdicts), 'claim')}: " + ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts)))


def ablation(
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=10_000, metavar="N", help="Users of each phone (default: as the file says).")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Also put the table into papers/ablation/README.md.")] = False,
    as_json: o.Json = False,
) -> None:
    """Switch each mechanism of the simulated phone alone and show what launches, kills and traffic
    make of it.
    """
    with bar("switching mechanisms") as listener:
        result = ablation_analysis.ablation(ablation_analysis.read_ablation(), seeds, listener=listener)
    table = ablation_analysis.markdown(result)
    if write:
        write_table(ablation_analysis.NAME, ablation_analysis.HEAD, table)
        stamp(ablation_analysis.NAME)
    print(result.model_dump_json(indent=2) if as_json else table, end="\n" if as_json else "")


def sensitivity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A folder of papers/ with a sensitivity.toml, such as a2s or android-15.")],
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, max=10_000, metavar="N", help="Runs of each phone (default: from the file).")
    ] = None,
    write: Write = False,
    as_json: o.Json = False,
) -> None:
    """Vary each assumed parameter of the phone over its range, and print which conclusions hold
    over all ranges.
    """
    with bar(f"varying {name}") as listener:
        result = sensitivity_analysis.sensitivity(name, sensitivity_analysis.read_sensitivity(name), seeds, listener=listener)
    if write:
        write_table(name, sensitivity_analysis.HEAD, sensitivity_analysis.markdown(result))
    if as_json:
        print(result.model_dump_json(indent=2))
        return
    for conclusion in result.conclusions:
        span = "nothing to compare" if conclusion.least is None else f"ratio {conclusion.least:.3f} to {conclusion.most:.3f}"
        stated = "holds" if conclusion.stated else "not stated"
        print(f"{stated}: {conclusion.claim} ({conclusion.holds} of {conclusion.phones} phones, {span})")
    print(f"simulated: {result.preset}, {plural(result.seeds, 'seed')}, one assumed parameter at a time")
