"""`swaplab explain`: the causes of a launch's waiting time on a simulated phone; without a number,
the list of the worst launches.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab.analysis.explain import Explanation, worst
from swaplab.analysis.explain import explain as explained
from swaplab.analysis.verdict import plural
from swaplab.cli import options as o
from swaplab.cli.table import print_columns
from swaplab.core import document as documents
from swaplab.core.files import path_for_message
from swaplab.core.model import Kind

BAR = 30
#: Senders that a waterfall lists below its time in queues.
MOST_SENDERS = 5


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of the world phone.")],
    launch: Annotated[
        int | None, typer.Argument(metavar="[LAUNCH]", help="Number of the launch, counted from 1; without it, the worst are listed.")
    ] = None,
    design: Annotated[str | None, typer.Option("--design", metavar="NAME", help="Only this design (default: all of them).")] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="The run with this seed (default: the first).")] = None,
    as_json: o.Json = False,
) -> None:
    """Explain a launch's waiting time by design: its waterfall from the request until the app is
    ready.
    """
    document = documents.read(run)
    table = documents.read_table(run, "launches")
    if "world" in table.columns:
        table = table.filter(table["world"] == "phone").drop("world")
    place = path_for_message(run / "launches.parquet")
    if launch is None:
        slowest = worst(table, place, design, seed)
        if as_json:
            print(json.dumps([row.model_dump() for row in slowest], indent=2))
            return
        rows = [("launch", "seed", "design", "app", "start", "ready ms", "waited ms", "longest")]
        for row in slowest:
            longest = f"{row.longest} {row.longest_ms:.0f} ms" if row.longest else "-"
            rows.append(
                (str(row.launch), str(row.seed), row.design, row.app, row.start, f"{row.ready_ms:.0f}", f"{row.waited_ms:.0f}", longest)
            )
        print_columns(rows, left=(2, 3, 4, 7))
        print(f"one launch in full: swaplab explain {path_for_message(run)} LAUNCH --seed SEED")
        return
    kind: Kind = next((row.kind for row in document.rows if row.world == "phone"), "simulated")
    waits = documents.read_table(run, "queue_waits") if (run / "queue_waits.parquet").is_file() else None
    answer = explained(table, place, kind, launch, design, seed, waits)
    print(answer.model_dump_json(indent=2)) if as_json else _waterfalls(answer)


def _waterfalls(explanation: Explanation) -> None:
    print(f"launch {explanation.launch}: {explanation.app} at {explanation.at_s:.0f} s, seed {explanation.seed}")
    longest = max(design.ready_ms for design in explanation.designs) or 1.0
    for design in explanation.designs:
        counts = f"{plural(design.faults, 'fault')}, {plural(design.swapped_in, 'page')} from swap, {design.file_reads:,} from files"
        print(f"\n{design.design}: {design.start}, ready after {design.ready_ms:.1f} ms ({counts})")
        rows = []
        for step in design.steps:
            before, width = round(BAR * step.from_ms / longest), round(BAR * step.ms / longest)
            rows.append((f"  {step.what}", f"{step.ms:.1f} ms", f"{100 * step.share:.1f} %", " " * before + "#" * max(1, width)))
            if step.part == "queue":
                rows += [(f"    behind {wait.what}", f"{wait.ms:.1f} ms", "", "") for wait in design.queue[:MOST_SENDERS]]
        if rows:
            print_columns(rows, left=(0, 3))
    print(f"\n{explanation.kind}; parts that overlap on a phone are shown one after the other")
