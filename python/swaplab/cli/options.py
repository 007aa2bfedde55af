"""Arguments that several subcommands share, and how their values are read."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

from swaplab.cli.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    N = TypeVar("N", int, float)

#: The most that a whole number may be: more is no count of anything.
MOST = 2**63 - 1


def whole(least: int | None = None, most: int = MOST) -> Callable[[str], int]:
    """What reads a whole number; with `least`, one from there to `most`."""

    return _reader(int, "a whole number" if least is None else f"a whole number from {least} to {most}", least, most)


def number(least: float | None = None) -> Callable[[str], float]:
    """What reads a number; with `least`, one of at least that."""

    return _reader(float, "a number" if least is None else f"a number of at least {least:g}", least, float("inf"))


def _reader(kind: Callable[[str], N], expected: str, least: N | None, most: N) -> Callable[[str], N]:
    def read(text: str) -> N:
        try:
            found = kind(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r}; expected {expected}") from None
        if least is not None and (found < least or found > most):
            raise ArgumentTypeError(f"{text!r}; expected {expected}")
        return found

    return read


def add_trace(command: Parser) -> None:
    command.add_argument("trace", metavar="TRACE", type=Path, help="A .slt or any importable file; - is standard input.")


def add_program(command: Parser) -> None:
    """Another program and its arguments, to be run."""
    command.add_argument("command", metavar="-- CMD...", nargs="+", help="The program and its arguments.")
    command.takes_program = True


def add_output(command: Parser, metavar: str, help: str) -> None:
    command.add_argument("-o", "--output", type=Path, required=True, metavar=metavar, help=help)


def add_format(command: Parser) -> None:
    command.add_argument("--format", help="Format of a file that is no .slt (default: told from its first lines).")


def add_pages(command: Parser) -> None:
    command.add_argument("--pages", type=Path, help="pgcsv: the page table, *.pages.csv, with each page's class.")


def add_filter(command: Parser) -> None:
    text = "Hits of an LRU filter of N entries were dropped (default: _kN in the name)."
    command.add_argument("--filter", type=whole(1), help=text)


def add_page_size(command: Parser) -> None:
    command.add_argument("--page-size", type=whole(4096, 16384), help="Bytes a page: 4096 (default) or 16384.")


def add_data_read_class(command: Parser) -> None:
    command.add_argument("--data-read-class", help="Class of pages only read as data: anonymous (default) or file.")


def add_ranges(command: Parser) -> None:
    command.add_argument("--ranges", type=Path, help="Block traces: partitions, NAME FIRST LAST a line, in 512-byte sectors.")


def add_filefrag(command: Parser) -> None:
    command.add_argument("--filefrag", type=Path, help="Block traces: the swap file's extents, as filefrag -e lists them.")


def add_json(command: Parser, help: str = "Print one JSON document.") -> None:
    command.add_argument("--json", dest="as_json", action="store_true", help=help)


def add_jobs(command: Parser) -> None:
    command.add_argument("--jobs", type=whole(0), default=0, help="Threads; 0: one a core. The result is the same for any number.")


def add_mapping(command: Parser) -> None:
    text = "follow: unmap and discard free pages; ignore: references only."
    command.add_argument("--mapping", default="follow", help=text)


def add_set(command: Parser, example: str) -> None:
    command.add_argument("--set", metavar="KEY=VALUE", action="append", help=f"Change a key, such as {example}.")


def add_run(command: Parser) -> None:
    command.add_argument("--run", metavar="DIR", type=Path, help="Also write a run folder with report.html below DIR.")


def write_report(document: dict[str, Any], name: str, run: Path | None, as_json: bool, seed: int = 0) -> None:
    """The run folder of a command's document, where one is asked for."""
    if run is not None:
        from swaplab.run_folder import write_run

        print(f"report: {write_run(document, name, run, seed)}", file=sys.stderr if as_json else sys.stdout)


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
