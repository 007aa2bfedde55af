"""`swaplab trace`: import, look at, convert and cut traces. Subcommands with a file of their own have a line in SUBCOMMANDS."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from swaplab.cli import options as o
from swaplab.cli.progress import bar

#: Modules of subcommands below `trace`; each has `register(app)`.
SUBCOMMANDS: tuple[str, ...] = ("analyze", "capture", "capture_block", "gen", "model")

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Import, look at, convert and cut traces.")

Output = Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="The file to write.")]


def register(parent: typer.Typer) -> None:
    """Add the subcommand and what stands below it."""
    for name in SUBCOMMANDS:
        import_module(f"swaplab.cli.{name}").register(app)
    parent.add_typer(app, name="trace")


@app.command("import")
def import_trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What to import; - is standard input; .zst and .gz are unpacked.")],
    output: Output,
    format: o.FormatOption = None,
    pages: o.PagesOption = None,
    filter: o.FilterOption = None,
    page_size: o.PageSizeOption = None,
    data_read_class: o.DataReadClassOption = None,
    ranges: o.RangesOption = None,
    filefrag: o.FilefragOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Import a trace of another format into a .slt."""
    from swaplab import _core

    o.apart(output, file)
    with bar(f"importing {file.name}") as listener:
        reading = o.reading(format, pages, filter, page_size, data_read_class, ranges, filefrag)
        text = _core.trace_import(file, output, reading, listener)
    _show(json.loads(text), as_json)


@app.command("info")
def info(
    trace: o.TraceArgument,
    format: o.FormatOption = None,
    pages: o.PagesOption = None,
    filter: o.FilterOption = None,
    page_size: o.PageSizeOption = None,
    data_read_class: o.DataReadClassOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """What is in a trace: references, footprint, classes, filter, provenance."""
    from swaplab import _core

    with bar(f"reading {trace.name}") as listener:
        text = _core.trace_info(trace, o.reading(format, pages, filter, page_size, data_read_class), listener)
    _show(json.loads(text), as_json)


@app.command("convert")
def convert(
    trace: o.TraceArgument,
    to: Annotated[str, typer.Option("--to", help="csv, parquet, oracle-general; of a recording: series.")],
    output: Output,
    format: o.FormatOption = None,
    pages: o.PagesOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Write a trace in another format (text is packed if OUT ends in .zst)."""
    from swaplab import _core

    o.apart(output, trace)
    with bar(f"converting {trace.name}") as listener:
        if to == "parquet":
            from swaplab.parquet import convert_to_parquet

            convert_to_parquet(trace, o.reading(format, pages), output, listener)
        else:
            _core.trace_convert(trace, o.reading(format, pages), to, output, listener)
    if as_json:
        o.say(as_json, "", format=to, output=str(output))


@app.command("slice")
def slice_trace(
    trace: o.TraceArgument,
    output: Output,
    start: Annotated[int, typer.Option("--from", min=0, max=o.MOST, help="References to pass over.")] = 0,
    count: Annotated[int | None, typer.Option("--count", min=1, max=o.MOST, help="References to keep at most.")] = None,
    owner: Annotated[str | None, typer.Option("--app", help="Keep this app's references only.")] = None,
    format: o.FormatOption = None,
    pages: o.PagesOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """A window of a trace, or one app's part of it."""
    from swaplab import _core

    o.apart(output, trace)
    with bar(f"slicing {trace.name}") as listener:
        text = _core.trace_slice(trace, o.reading(format, pages), start, count, owner, output, listener)
    _show(json.loads(text), as_json)


@app.command("merge")
def merge(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE..", help="Two or more traces; each becomes an app of its file's name.")],
    output: Output,
    quantum: Annotated[
        int, typer.Option("--quantum", min=1, max=o.MOST, help="References that one trace runs before another may.")
    ] = 10_000,
    format: o.FormatOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Several programs' traces as one machine's, taking turns in proportion to their lengths."""
    from swaplab import _core

    o.apart(output, *traces)
    with bar("merging") as listener:
        text = _core.trace_merge(traces, o.reading(format), quantum, output, listener)
    _show(json.loads(text), as_json)


@app.command("anonymise")
def anonymise(
    trace: o.TraceArgument,
    output: Output,
    seed: Annotated[int, typer.Option("--seed", min=0, max=o.MOST, help="Decides where pages move; keep it to yourself.")] = 0,
    format: o.FormatOption = None,
    pages: o.PagesOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """A copy without names and addresses; order, neighbourhood and classes of pages stay."""
    from swaplab import _core

    o.apart(output, trace)
    with bar(f"anonymising {trace.name}") as listener:
        text = _core.trace_anonymise(trace, o.reading(format, pages), seed, output, listener)
    _show(json.loads(text), as_json)


def _show(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"schema": 1, **document}, indent=2))
        return
    for key, value in document.items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} {v}" for k, v in value.items())
        elif isinstance(value, list):
            value = ", ".join(map(str, value[:12])) + (f" and {len(value) - 12} more" if len(value) > 12 else "")
        elif isinstance(value, int) and not isinstance(value, bool):
            value = f"{value:,}"
        if value not in (None, "", "0") or key == "writes":
            print(f"{key:<18}{value}")
