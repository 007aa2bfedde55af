"""`swaplab trace analyze`: how accesses spread over data, and what swap adds (Kim & Bahn, Section II)."""

from __future__ import annotations

import json
from pathlib import Path

from swaplab import BadInput
from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def register(parent: Parser) -> None:
    """Add the subcommand."""
    command = parent.command("analyze", analyze)
    for add in (o.add_trace, o.add_format, o.add_pages, o.add_ranges, o.add_filefrag, o.add_run, o.add_json):
        add(command)


def analyze(
    trace: Path, format: str | None, pages: Path | None, ranges: Path | None, filefrag: Path | None, run: Path | None, as_json: bool
) -> None:
    """Rank distribution, top shares, single accesses, partitions, swap against no swap."""
    from swaplab import _core

    with bar(f"analyzing {trace.name}") as listener:
        text = _core.trace_analyze(trace, o.reading(format, pages, ranges=ranges, filefrag=filefrag), listener)
    document: dict[str, Any] = json.loads(text)
    if run is not None and document["accesses"] is None:
        raise BadInput(f"{trace}: a trace of launches; expected a page or block trace for --run")
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        _say(document)
    o.write_report(document, "analyze", run, as_json)


def _say(document: dict[str, Any]) -> None:
    if document["accesses"] is not None:
        print(f"{document['accesses']:,} accesses to {document['data']:,} pages of data")
        for share, taken in document["top_share"].items():
            print(f"the top {100 * float(share):.0f} % of the data take {100 * taken:.1f} % of the accesses")
        print(f"{100 * document['share_for_80_percent']:.1f} % of the data take 80 % of the accesses")
        print(f"{100 * document['single_access_ratio']:.1f} % of the data are accessed once")
        for name, traffic in document["partitions"].items():
            print(f"{name}: {traffic['read_bytes']:,} bytes read, {traffic['write_bytes']:,} written")
        if swap := document["swap"]:
            print(f"swap takes {swap['accesses']:,} accesses; with it there are {swap['times']:.2f} times as many as without")
    for name, value in document["reuse"].items():
        if isinstance(value, (int, float)):
            print(f"{name}: {value}")
