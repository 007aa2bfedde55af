"""Arguments and options that several commands share, with equal names and help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab.core.experiment import BUNDLED, trace_path
from swaplab.core.model import Reading

#: The largest value of an integer option (i64::MAX, as the core uses 64-bit integers).
MOST = 2**63 - 1

TRACE = f"A .slt or any importable file, - for standard input, or a bundled trace ({', '.join(BUNDLED)})."

ExperimentFile = Annotated[Path, typer.Argument(metavar="EXP", help="An experiment file, or a preset of `swaplab list presets`.")]
#: A trace whose name is that of the experiment's workload.
TraceName = Annotated[Path, typer.Argument(metavar="TRACE", help=TRACE)]
TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", help=TRACE, callback=trace_path)]
RunPlace = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or the JSON document of a run.")]

Set = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Override a key, such as machine.dram=64MiB or design.zram.swap.size=1GiB.")
]
On = Annotated[list[str], typer.Option("--on", metavar="WORLD", help="Worlds to run in, instead of run.on; comma-separated.")]
Out = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write the run folder here: report.html, summary.json, tables.")
]
OutFile = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Jobs = Annotated[
    int,
    typer.Option("--jobs", min=0, max=4096, metavar="N", help="Threads or processes; 0: one per core. The number does not affect results."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=MOST, metavar="N", help="First seed of the random numbers.")]

Format = Annotated[
    str | None, typer.Option("--format", metavar="KEY", help="Format of a file that is not .slt (default: detected from its first lines).")
]
Pages = Annotated[str | None, typer.Option("--pages", metavar="FILE", help="Format pgcsv: the page table, *.pages.csv.")]
Filter = Annotated[
    int | None,
    typer.Option("--filter", min=1, max=MOST, metavar="N", help="Hits of an N-entry LRU filter were dropped (default: _kN in the name)."),
]
PageSize = Annotated[int | None, typer.Option("--page-size", min=4096, max=16384, metavar="BYTES", help="4096 (default) or 16384.")]
DataReadClass = Annotated[
    str | None, typer.Option("--data-read-class", metavar="CLASS", help="Class of pages only read as data: anonymous (default) or file.")
]
Ranges = Annotated[
    str | None, typer.Option("--ranges", metavar="FILE", help="Block traces: partitions, NAME FIRST LAST a line, in 512-byte sectors.")
]
Filefrag = Annotated[
    str | None, typer.Option("--filefrag", metavar="FILE", help="Block traces: the swap file's extents, as `filefrag -e` lists them.")
]


def reading(
    format: str | None = None,
    pages: str | None = None,
    filter: int | None = None,
    page_size: int | None = None,
    data_read_class: str | None = None,
) -> Reading:
    """Build the reading options of a trace that is not `.slt`."""
    return Reading(format=format, pages=pages, filter=filter, page_size=page_size, data_read_class=data_read_class)


def split_list(values: list[str]) -> list[str]:
    """Split comma-separated values of options that may be repeated. In `a:x=1,y=2,b`, `y=2` belongs
    to `a`.
    """
    pieces: list[str] = []
    for value in values:
        for at, piece in enumerate(value.split(",")):
            if at and pieces and ":" in pieces[-1] and "=" in piece and ":" not in piece:
                pieces[-1] += f",{piece}"
            elif piece.strip():
                pieces.append(piece.strip())
    return pieces
