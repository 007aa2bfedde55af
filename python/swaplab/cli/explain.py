"""`swaplab explain`: what one launch of a simulated phone waited for; without a number, the worst launches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab.analysis.explain import Explanation, worst
from swaplab.analysis.explain import explain as explained
from swaplab.cli import options as o
from swaplab.cli.table import print_columns
from swaplab.core import document as documents
from swaplab.core.files import path_for_message
from swaplab.core.model import Kind

BAR = 30


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of the world phone.")],
    launch: Annotated[
        int | None, typer.Argument(metavar="[LAUNCH]", help="Number of the launch, from 1 on; without one, the worst are listed.")
    ] = None,
    design: Annotated[str | None, typer.Option("--design", metavar="NAME", help="Only this design (default: all of them).")] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Of the run with this seed (default: the first).")] = None,
    as_json: o.Json = False,
) -> None:
    """Say what one launch waited for, design by design: its waterfall from the request to the app's being ready."""
    document = documents.read(run)
    table = documents.read_table(run, "launches")
    if "world" in table.columns:
        table = table.filter(table["world"] == "phone").drop("world")
    place = path_for_message(run / "launches.parquet")
    if launch is None:
        found = worst(table, place, design, seed)
        if as_json:
            print(json.dumps([one.model_dump() for one in found], indent=2))
            return
        rows = [("launch", "seed", "design", "app", "start", "ready ms", "waited ms", "longest")]
        for one in found:
            longest = f"{one.longest} {one.longest_ms:.0f} ms" if one.longest else "-"
            rows.append(
                (str(one.launch), str(one.seed), one.design, one.app, one.start, f"{one.ready_ms:.0f}", f"{one.waited_ms:.0f}", longest)
            )
        print_columns(rows, left=(2, 3, 4, 7))
        print(f"one launch in full: swaplab explain {path_for_message(run)} LAUNCH --seed SEED")
        return
    kind: Kind = next((row.kind for row in document.rows if row.world == "phone"), "simulated")
    answer = explained(table, place, kind, launch, design, seed)
    print(answer.model_dump_json(indent=2)) if as_json else _waterfalls(answer)


def _waterfalls(found: Explanation) -> None:
    print(f"launch {found.launch}: {found.app} at {found.at_s:.0f} s, seed {found.seed}")
    longest = max(one.ready_ms for one in found.designs) or 1.0
    for one in found.designs:
        counts = f"{one.faults} faults, {one.swapped_in} pages from swap, {one.file_reads} from files"
        print(f"\n{one.design}: {one.start}, ready after {one.ready_ms:.1f} ms ({counts})")
        rows = []
        for step in one.steps:
            before, width = round(BAR * step.from_ms / longest), round(BAR * step.ms / longest)
            rows.append((f"  {step.what}", f"{step.ms:.1f} ms", f"{100 * step.share:.1f} %", " " * before + "#" * max(1, width)))
        if rows:
            print_columns(rows, left=(0, 3))
    print(f"\n{found.kind}; parts that overlap on a phone stand one after the other")
