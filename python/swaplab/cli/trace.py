"""`swaplab trace`: import, look at, convert and cut traces. Subcommands with a file of their own have a line in SUBCOMMANDS."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Modules of subcommands below `trace`; each has `register(app)`.
SUBCOMMANDS: tuple[str, ...] = ("analyze", "capture", "capture_block", "gen", "model")


def register(app: Parser) -> None:
    """Add the subcommand and what stands below it."""
    trace = app.group("trace", "Import, look at, convert and cut traces.")
    for name in SUBCOMMANDS:
        import_module(f"swaplab.cli.{name}").register(trace)

    command = trace.command("import", import_trace)
    text = "What to import; - is standard input; .zst and .gz are unpacked."
    command.add_argument("file", metavar="FILE", type=Path, help=text)
    _add_output(command)
    for add in (o.add_format, o.add_pages, o.add_filter, o.add_page_size, o.add_data_read_class, o.add_ranges, o.add_filefrag, o.add_json):
        add(command)

    command = trace.command("info", info)
    for add in (o.add_trace, o.add_format, o.add_pages, o.add_filter, o.add_page_size, o.add_data_read_class, o.add_json):
        add(command)

    command = trace.command("convert", convert)
    o.add_trace(command)
    command.add_argument("--to", required=True, help="csv, parquet, oracle-general; of a recording: series.")
    for add in (_add_output, o.add_format, o.add_pages, o.add_json):
        add(command)

    command = trace.command("slice", slice_trace)
    o.add_trace(command)
    _add_output(command)
    command.add_argument("--from", dest="start", type=o.whole(0), default=0, help="References to pass over.")
    command.add_argument("--count", type=o.whole(1), help="References to keep at most.")
    command.add_argument("--app", dest="owner", help="Keep this app's references only.")
    for add in (o.add_format, o.add_pages, o.add_json):
        add(command)

    command = trace.command("merge", merge)
    text = "Two or more traces; each becomes an app of its file's name."
    command.add_argument("traces", metavar="TRACE..", nargs="+", type=Path, help=text)
    _add_output(command)
    command.add_argument("--quantum", type=o.whole(1), default=10_000, help="References that one trace runs before another may.")
    for add in (o.add_format, o.add_json):
        add(command)

    command = trace.command("anonymise", anonymise)
    o.add_trace(command)
    _add_output(command)
    command.add_argument("--seed", type=o.whole(0), default=0, help="Decides where pages move; keep it to yourself.")
    for add in (o.add_format, o.add_pages, o.add_json):
        add(command)


def _add_output(command: Parser) -> None:
    o.add_output(command, "OUT", "The file to write.")


def import_trace(
    file: Path,
    output: Path,
    format: str | None,
    pages: Path | None,
    filter: int | None,
    page_size: int | None,
    data_read_class: str | None,
    ranges: Path | None,
    filefrag: Path | None,
    as_json: bool,
) -> None:
    """Import a trace of another format into a .slt."""
    from swaplab import _core

    o.apart(output, file)
    with bar(f"importing {file.name}") as listener:
        reading = o.reading(format, pages, filter, page_size, data_read_class, ranges, filefrag)
        text = _core.trace_import(file, output, reading, listener)
    _show(json.loads(text), as_json)


def info(
    trace: Path,
    format: str | None,
    pages: Path | None,
    filter: int | None,
    page_size: int | None,
    data_read_class: str | None,
    as_json: bool,
) -> None:
    """What is in a trace: references, footprint, classes, filter, provenance."""
    from swaplab import _core

    with bar(f"reading {trace.name}") as listener:
        text = _core.trace_info(trace, o.reading(format, pages, filter, page_size, data_read_class), listener)
    _show(json.loads(text), as_json)


def convert(trace: Path, to: str, output: Path, format: str | None, pages: Path | None, as_json: bool) -> None:
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


def slice_trace(
    trace: Path,
    output: Path,
    start: int,
    count: int | None,
    owner: str | None,
    format: str | None,
    pages: Path | None,
    as_json: bool,
) -> None:
    """A window of a trace, or one app's part of it."""
    from swaplab import _core

    o.apart(output, trace)
    with bar(f"slicing {trace.name}") as listener:
        text = _core.trace_slice(trace, o.reading(format, pages), start, count, owner, output, listener)
    _show(json.loads(text), as_json)


def merge(traces: list[Path], output: Path, quantum: int, format: str | None, as_json: bool) -> None:
    """Several programs' traces as one machine's, taking turns in proportion to their lengths."""
    from swaplab import _core

    o.apart(output, *traces)
    with bar("merging") as listener:
        text = _core.trace_merge(traces, o.reading(format), quantum, output, listener)
    _show(json.loads(text), as_json)


def anonymise(trace: Path, output: Path, seed: int, format: str | None, pages: Path | None, as_json: bool) -> None:
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
