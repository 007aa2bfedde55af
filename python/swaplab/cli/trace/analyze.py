"""`swaplab trace analyze`: distribution of accesses over data, and swap's share of accesses (Kim
and Bahn, Section II).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab import BadInput, _core
from swaplab.analysis.results import Spread
from swaplab.cli import options as o
from swaplab.cli.output import write_result
from swaplab.cli.progress import bar
from swaplab.cli.trace.files import reading_of
from swaplab.core.files import path_for_message
from swaplab.core.trace import as_json as reading_json


def register(trace: typer.Typer) -> None:
    """Add the command."""
    trace.command("analyze")(analyze)


def analyze(
    trace: o.TraceFile,
    format: o.Format = None,
    pages: o.Pages = None,
    ranges: o.Ranges = None,
    filefrag: o.Filefrag = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write a folder with report.html here.")] = None,
    as_json: o.Json = False,
) -> None:
    """Analyze accesses: rank distribution, top shares, single accesses, partitions, swap compared
    with no swap.
    """
    with bar(f"analyzing {path_for_message(trace.name)}") as listener:
        text = _core.trace_analyze(trace, reading_of(reading_json(o.reading(format, pages), trace), ranges, filefrag), listener)
    document = flat(text)
    if document["accesses"] is None:
        if output is not None:
            raise BadInput(f"{path_for_message(trace)}: a trace of launches; expected a page or block trace for -o")
        print(json.dumps(document, indent=2)) if as_json else _print_launches(document)
        return
    spread = Spread.model_validate(document | {"trace": {"path": path_for_message(trace), "name": trace.name, "kind": "trace"}})
    if output is not None:
        write_result(spread, output, "analyze")
    print(spread.model_dump_json(indent=2)) if as_json else _print_spread(spread)


def flat(text: str) -> dict[str, object]:
    """Flatten the core's result to the keys of `--json`: the figures of accesses are moved to the
    top level.
    """
    document = json.loads(text)
    return {**document, **(document["accesses"] or {"accesses": None})}


def _print_launches(document: dict[str, object]) -> None:
    reuse = document["reuse"]
    for name, value in reuse.items() if isinstance(reuse, dict) else ():
        if isinstance(value, int | float):
            print(f"{name}: {value}")


def _print_spread(spread: Spread) -> None:
    print(f"{spread.accesses:,} accesses to {spread.data:,} pages of data")
    for share, taken in spread.top_share.items():
        print(f"the top {100 * float(share):.0f} % of the data take {100 * taken:.1f} % of the accesses")
    print(f"{100 * spread.share_for_80_percent:.1f} % of the data take 80 % of the accesses")
    print(f"{100 * spread.single_access_ratio:.1f} % of the data are accessed once")
    for name, traffic in spread.partitions.items():
        print(f"{name}: {traffic.read_bytes:,} bytes read, {traffic.write_bytes:,} written")
    if spread.swap:
        print(f"swap takes {spread.swap.accesses:,} accesses; with it there are {spread.swap.times:.2f} times as many as without")
