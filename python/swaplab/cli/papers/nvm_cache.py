"""`swaplab papers nvm-cache`: accesses that reach storage behind an NVM cache (Kim and Bahn,
Section IV).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab import _core
from swaplab.analysis.results import NvmCache
from swaplab.cli import options as o
from swaplab.cli.output import write_result
from swaplab.cli.progress import bar
from swaplab.cli.table import print_columns
from swaplab.cli.trace.files import reading_of
from swaplab.core.files import path_for_message
from swaplab.core.trace import as_json as reading_json


def register(papers: typer.Typer) -> None:
    """Add the command."""
    papers.command("nvm-cache")(nvm_cache)


def nvm_cache(
    trace: o.TraceFile,
    size: Annotated[list[str], typer.Option("--size", metavar="SIZE,..", help="Sizes of the NVM, such as 64MiB or 5% of the data.")],
    replacement: Annotated[list[str], typer.Option("--replacement", metavar="P,..", help="Policies of the NVM.")] = ["lru,lfu"],
    admission: Annotated[list[str], typer.Option("--admission", metavar="A,..", help="Conditions of `swaplab list admissions`.")] = [
        "always,second-touch"
    ],
    fill: Annotated[list[str], typer.Option("--fill", metavar="F,..", help="What fills the NVM: demand, evictions, swap-only.")] = [
        "demand,evictions"
    ],
    jobs: o.Jobs = 0,
    format: o.Format = None,
    ranges: o.Ranges = None,
    filefrag: o.Filefrag = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write a folder with report.html here.")] = None,
    as_json: o.Json = False,
) -> None:
    """Count the accesses that reach storage behind an NVM cache, at each size."""
    request = {
        "sizes": o.split_list(size),
        "replacement": o.split_list(replacement),
        "admission": o.split_list(admission),
        "fill": o.split_list(fill),
        "jobs": jobs,
        "reading": json.loads(reading_of(reading_json(o.reading(format), trace), ranges, filefrag)),
    }
    with bar(f"simulating {path_for_message(trace.name)}") as listener:
        text = _core.nvm_cache(trace, json.dumps(request), listener)
    result = NvmCache.model_validate(json.loads(text) | {"trace": {"path": path_for_message(trace), "name": trace.name, "kind": "trace"}})
    if output is not None:
        write_result(result, output, "nvm-cache")
    if as_json:
        print(result.model_dump_json(indent=2))
        return
    without = result.storage_accesses_without_nvm
    rows: list[tuple[str, ...]] = [("fill", "size", "replacement", "admission", "storage", "of all", "hits", "admitted", "bypassed")]
    for point in result.points:
        storage = point.storage_reads + point.storage_writes
        counts = [f"{value:,}" for value in (point.nvm_hits, point.admitted, point.bypassed)]
        names = (point.replacement, point.admission)
        rows.append((point.fill, f"{point.size_bytes / 2**20:g} MiB", *names, f"{storage:,}", f"{storage / without:.3f}", *counts))
    print_columns(rows, left=(0, 2, 3))
    print(f"simulated; {without:,} storage accesses without NVM")
