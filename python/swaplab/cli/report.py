"""`swaplab report`: an offline HTML page of finished runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab import report as pages
from swaplab.analysis.readable import Readable, parse
from swaplab.cli import options as o
from swaplab.core import document as documents
from swaplab.core.files import path_for_message, read_text, try_output, write_whole
from swaplab.report import perfetto as tracks
from swaplab.report.export import static_files


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def read_result(place: Path) -> Readable:
    """Read the document of a run folder, or a result that a command printed with `--json`."""
    file = place / documents.SUMMARY if place.is_dir() else place
    return parse(path_for_message(file), read_text(file, "a run folder or the JSON document of a command"))


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN..", help="Run folders, or JSON documents that a command printed.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The page to write; by default report.html in the first run's folder."),
    ] = None,
    static: Annotated[bool, typer.Option("--static", help="Also write every figure as SVG and PNG to the page's folder.")] = False,
    perfetto: Annotated[
        Path | None, typer.Option("--perfetto", metavar="FILE", help="Write a run of launches as .pftrace instead of the page.")
    ] = None,
    as_json: o.Json = False,
) -> None:
    """Write one offline HTML page for one or more runs, and print its path."""
    if perfetto is not None:
        if len(runs) != 1:
            raise BadInput(f"--perfetto: {len(runs)} runs; expected one")
        recorded = [tracks.TRACEPOINTS] if (runs[0] / f"{tracks.TRACEPOINTS}.parquet").is_file() else []
        tables = {name: documents.read_table(runs[0], name) for name in (*tracks.NEEDED, *recorded)}
        document = documents.read(runs[0])
        packets = tracks.tracks_of(tables, tracks.frame_bytes(document.experiment))
        write_whole(perfetto, tracks.encoded(packets))
        print(json.dumps({"perfetto": path_for_message(perfetto), "tracks": len(packets)}) if as_json else path_for_message(perfetto))
        return
    target = output or (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"
    try_output(target)
    named = [(documents.run_name(run), read_result(run)) for run in runs]
    write_whole(target, pages.page(named).encode())
    figures = []
    if static:
        for name, content in static_files(named).items():
            write_whole(target.parent / name, content)
            figures.append(path_for_message(target.parent / name))
    print(
        json.dumps({"report": path_for_message(target), "figures": figures}, indent=2)
        if as_json
        else "\n".join([path_for_message(target), *figures])
    )
