"""`swaplab trace import`, `info`, `convert`, `gen`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab import _core
from swaplab.analysis.verdict import plural
from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.core.files import path_for_message, refuse_overwrite
from swaplab.core.trace import as_json as reading_json
from swaplab.core.trace import to_parquet


def register(trace: typer.Typer) -> None:
    """Add the commands."""
    trace.command("import")(import_trace)
    trace.command("info")(info)
    trace.command("convert")(convert)
    trace.command("gen")(gen)


def reading_of(reading: str, ranges: str | None, filefrag: str | None) -> str:
    """Add the reading options of block traces to `reading`."""
    block_options = {"ranges": ranges, "filefrag": filefrag}
    return json.dumps(json.loads(reading) | {key: value for key, value in block_options.items() if value is not None})


def print_facts(text: str, as_json: bool) -> None:
    """Print the core's facts as JSON, or one per line."""
    document = json.loads(text)
    if as_json:
        print(json.dumps(document, indent=2))
        return
    for key, value in document.items():
        if value not in (None, {}, []):
            print(f"{key}: {f'{value:,}' if isinstance(value, int) and not isinstance(value, bool) else value}")


def import_trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to import; - is standard input; .zst and .gz are decompressed.")],
    output: o.OutFile,
    format: o.Format = None,
    pages: o.Pages = None,
    filter: o.Filter = None,
    page_size: o.PageSize = None,
    data_read_class: o.DataReadClass = None,
    ranges: o.Ranges = None,
    filefrag: o.Filefrag = None,
    as_json: o.Json = False,
) -> None:
    """Import a trace of another format into a .slt."""
    refuse_overwrite(output, [file])
    reading = reading_json(o.reading(format, pages, filter, page_size, data_read_class), file)
    with bar(f"importing {path_for_message(file.name)}") as listener:
        text = _core.trace_import(file, output, reading_of(reading, ranges, filefrag), listener)
    print_facts(text, as_json)


def info(
    trace: o.TraceFile,
    format: o.Format = None,
    pages: o.Pages = None,
    filter: o.Filter = None,
    page_size: o.PageSize = None,
    data_read_class: o.DataReadClass = None,
    as_json: o.Json = False,
) -> None:
    """Show the properties of a trace: references, footprint, classes, filter, provenance."""
    with bar(f"reading {path_for_message(trace.name)}") as listener:
        text = _core.trace_info(trace, reading_json(o.reading(format, pages, filter, page_size, data_read_class), trace), listener)
    print_facts(text, as_json)


def convert(
    trace: o.TraceFile,
    output: o.OutFile,
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="csv, parquet, oracle-general; of a recording: series.")],
    format: o.Format = None,
    pages: o.Pages = None,
    as_json: o.Json = False,
) -> None:
    """Write a trace in another format (text is compressed if FILE ends in .zst)."""
    refuse_overwrite(output, [trace])
    reading = o.reading(format, pages)
    with bar(f"converting {path_for_message(trace.name)}") as listener:
        if to == "parquet":
            to_parquet(trace, reading, output)
        else:
            _core.trace_convert(trace, reading_json(reading, trace), to, output, listener)
    if as_json:
        print(json.dumps({"format": to, "output": path_for_message(output)}, indent=2))


def gen(
    launches: Annotated[
        str, typer.Argument(metavar="LAUNCHES", help="small, medium, large (A2S), phone-daily, or zipf:apps=50,alpha=1.45.")
    ],
    output: o.OutFile,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Generate a trace of app launches; the same seed gives the same bytes."""
    document = json.loads(_core.trace_gen(launches, seed, output))
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        print(f"{plural(document['launches'], 'launch', 'launches')} of {plural(document['apps'], 'app')} in {path_for_message(output)}")
