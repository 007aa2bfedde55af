"""`swaplab trace slice`, `merge`, `anonymize`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab import _core
from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.cli.trace.files import print_facts
from swaplab.core.errors import BadInput
from swaplab.core.experiment import trace_path
from swaplab.core.files import path_for_message, refuse_overwrite
from swaplab.core.trace import as_json as reading_json


def register(trace: typer.Typer) -> None:
    """Add the commands."""
    trace.command("slice")(slice_trace)
    trace.command("merge")(merge)
    trace.command("anonymize")(anonymize)


def slice_trace(
    trace: o.TraceFile,
    output: o.OutFile,
    start: Annotated[int, typer.Option("--from", min=0, max=o.MOST, metavar="N", help="References to skip.")] = 0,
    count: Annotated[int | None, typer.Option("--count", min=1, max=o.MOST, metavar="N", help="Most references to keep.")] = None,
    owner: Annotated[str | None, typer.Option("--app", metavar="APP", help="Keep only this app's references.")] = None,
    format: o.Format = None,
    pages: o.Pages = None,
    as_json: o.Json = False,
) -> None:
    """Write a window of a trace, or one app's references."""
    refuse_overwrite(output, [trace])
    with bar(f"slicing {path_for_message(trace.name)}") as listener:
        text = _core.trace_slice(trace, reading_json(o.reading(format, pages), trace), start, count, owner, output, listener)
    print_facts(text, as_json)


def merge(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE..", help="Two or more traces; each becomes an app named as its file.")],
    output: o.OutFile,
    quantum: Annotated[
        int, typer.Option("--quantum", min=1, max=o.MOST, metavar="N", help="References of one trace before the next one takes its turn.")
    ] = 10_000,
    format: o.Format = None,
    as_json: o.Json = False,
) -> None:
    """Interleave traces into one, as if their programs ran in turn."""
    if len(traces) < 2:
        raise BadInput("merge: one trace; expected two or more")
    traces = [trace_path(trace) for trace in traces]
    refuse_overwrite(output, traces)
    with bar("merging") as listener:
        text = _core.trace_merge(traces, reading_json(o.reading(format), *traces), quantum, output, listener)
    print_facts(text, as_json)


def anonymize(
    trace: o.TraceFile,
    output: o.OutFile,
    seed: Annotated[int, typer.Option("--seed", min=0, max=o.MOST, metavar="N", help="Seed of the mapping of pages; keep it secret.")] = 0,
    format: o.Format = None,
    pages: o.Pages = None,
    as_json: o.Json = False,
) -> None:
    """Write a trace without names and addresses: pages are renumbered, and policies behave as
    before.
    """
    refuse_overwrite(output, [trace])
    with bar(f"anonymizing {path_for_message(trace.name)}") as listener:
        text = _core.trace_anonymize(trace, reading_json(o.reading(format, pages), trace), seed, output, listener)
    print_facts(text, as_json)
