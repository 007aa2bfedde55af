"""Options that several subcommands share, and how their values are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

#: The most that a whole number may be: more is no count of anything.
MOST = 2**63 - 1

TraceArgument = Annotated[Path, typer.Argument(metavar="TRACE", help="A .slt or any importable file; - is standard input.")]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="Format of a file that is no .slt (default: told from its first lines).")
]
PagesOption = Annotated[Path | None, typer.Option("--pages", help="pgcsv: the page table, *.pages.csv, with each page's class.")]
FilterOption = Annotated[
    int | None,
    typer.Option("--filter", min=1, max=MOST, help="Hits of an LRU filter of N entries were dropped (default: _kN in the name)."),
]
PageSizeOption = Annotated[int | None, typer.Option("--page-size", min=4096, max=16384, help="Bytes a page: 4096 (default) or 16384.")]
DataReadClassOption = Annotated[
    str | None,
    typer.Option("--data-read-class", help="Class of pages only read as data: anonymous (default) or file."),
]
RangesOption = Annotated[
    Path | None, typer.Option("--ranges", help="Block traces: partitions, NAME FIRST LAST a line, in 512-byte sectors.")
]
FilefragOption = Annotated[
    Path | None, typer.Option("--filefrag", help="Block traces: the swap file's extents, as filefrag -e lists them.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
JobsOption = Annotated[int, typer.Option("--jobs", min=0, max=MOST, help="Threads; 0: one a core. The result is the same for any number.")]
PolicyOption = Annotated[list[str], typer.Option("--policy", help="Policies, as KEY or KEY:name=value,.. ; several with commas.")]
MemoryOption = Annotated[list[str], typer.Option("--memory", help="Sizes: 64MiB, 4096p, 5% of the footprint; several with commas.")]
MappingOption = Annotated[str, typer.Option("--mapping", help="follow: unmap and discard free pages; ignore: references only.")]


RunOption = Annotated[Path | None, typer.Option("--run", metavar="DIR", help="Also write a run folder with report.html below DIR.")]


def write_report(document: dict[str, Any], name: str, run: Path | None, as_json: bool, seed: int = 0) -> None:
    """The run folder of a command's document, where one is asked for."""
    if run is not None:
        from swaplab.run_folder import write_run

        typer.echo(f"report: {write_run(document, name, run, seed)}", err=as_json)


def reading(
    format: str | None = None,
    pages: Path | None = None,
    filter: int | None = None,
    page_size: int | None = None,
    data_read_class: str | None = None,
    ranges: Path | None = None,
    filefrag: Path | None = None,
) -> str:
    """How to read a trace that is no `.slt`, as the core takes it."""
    given = {
        "format": format,
        "pages": pages and str(pages),
        "filter": filter,
        "page_size": page_size,
        "data_read_class": data_read_class,
        "ranges": ranges and str(ranges),
        "filefrag": filefrag and str(filefrag),
    }
    return json.dumps({name: value for name, value in given.items() if value is not None})


def apart(output: Path, *inputs: Path) -> None:
    """Nothing is written over what it is made from: its copy may hold less."""
    from swaplab import BadInput

    for one in inputs:
        if output.exists() and one.exists() and output.samefile(one):
            raise BadInput(f"-o {output}: it is what is read; expected another file")


def say(as_json: bool, text: str, **facts: object) -> None:
    """What a command that writes files says of them: one JSON document of `facts`, or `text`."""
    print(json.dumps({"schema": 1, **facts}, indent=2) if as_json else text)


def listed(values: list[str]) -> list[str]:
    """Comma-separated values, of options that may also be repeated. In `a:x=1,y=2,b` the `y=2` belongs to `a`."""
    found: list[str] = []
    for value in values:
        for at, piece in enumerate(value.split(",")):
            if at and found and ":" in found[-1] and "=" in piece and ":" not in piece:
                found[-1] += f",{piece}"
            elif piece.strip():
                found.append(piece.strip())
    return found
