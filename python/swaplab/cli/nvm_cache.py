"""`swaplab nvm-cache`: an NVM cache before storage, over the requests of a block or swap trace (Kim & Bahn, Section IV)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("nvm-cache", nvm_cache)
    o.add_trace(command)
    text = "Sizes of the NVM, such as 64MiB or 5%% (of the data); several with commas."
    command.add_argument("--size", action="append", required=True, help=text)
    text = "Policies of the NVM; several with commas (default: lru,lfu)."
    command.add_argument("--replacement", action="append", help=text)
    text = "always, second-touch, compressible, write-heavy; several with commas (default: always,second-touch)."
    command.add_argument("--admission", action="append", help=text)
    text = "What fills the NVM: demand, evictions or swap-only (default: the first two, one after the other)."
    command.add_argument("--fill", action="append", help=text)
    for add in (o.add_jobs, o.add_format, o.add_ranges, o.add_filefrag, o.add_run, o.add_json):
        add(command)


def nvm_cache(
    trace: Path,
    size: list[str],
    replacement: list[str] | None,
    admission: list[str] | None,
    fill: list[str] | None,
    jobs: int,
    format: str | None,
    ranges: Path | None,
    filefrag: Path | None,
    run: Path | None,
    as_json: bool,
) -> None:
    """Count the accesses that reach storage behind an NVM cache, at each size."""
    from swaplab import _core

    request = {
        "sizes": o.listed(size),
        "replacement": o.listed(replacement or ["lru,lfu"]),
        "admission": o.listed(admission or ["always,second-touch"]),
        "fill": o.listed(fill or ["demand,evictions"]),
        "jobs": jobs,
        "reading": json.loads(o.reading(format, ranges=ranges, filefrag=filefrag)),
    }
    with bar(f"simulating {trace.name}") as listener:
        document: dict[str, Any] = json.loads(_core.nvm_cache(trace, json.dumps(request), listener))
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        _table(document)
    o.write_report(document, "nvm-cache", run, as_json)


def _table(document: dict[str, Any]) -> None:
    from swaplab.cli.replay import print_columns

    without = document["storage_accesses_without_nvm"]
    rows = [("fill", "size", "replacement", "admission", "storage", "of all", "hits", "admitted", "bypassed")]
    for point in document["points"]:
        storage = point["storage_reads"] + point["storage_writes"]
        counts = [f"{point[key]:,}" for key in ("nvm_hits", "admitted", "bypassed")]
        names = (point["replacement"], point["admission"])
        rows.append((point["fill"], f"{point['size_bytes'] / 2**20:g} MiB", *names, f"{storage:,}", f"{storage / without:.3f}", *counts))
    print_columns(rows, left=(0, 2, 3))
    print(f"simulated; {without:,} storage accesses without NVM, of {document['trace']['footprint_pages']:,} pages of data")
