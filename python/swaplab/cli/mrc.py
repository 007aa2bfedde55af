"""`swaplab mrc`: the miss-ratio curve. LRU's is exact at every size from one pass; other policies are replayed at some sizes."""

from __future__ import annotations

import json
from pathlib import Path

from swaplab import BadInput
from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar
from swaplab.cli.replay import run_replay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("mrc", mrc)
    o.add_trace(command)
    command.add_argument("--policy", default="lru", help="LRU is exact at every size; others are replayed at --sizes sizes.")
    command.add_argument("--sample", type=o.number(), default=1.0, help="SHARDS: look at this share of the pages only (lru).")
    command.add_argument("--sizes", type=o.whole(1), default=100, help="Sizes to show, evenly spaced up to the footprint.")
    for add in (o.add_mapping, o.add_jobs, o.add_format, o.add_pages, o.add_filter, o.add_json):
        add(command)


def mrc(
    trace: Path,
    policy: str,
    sample: float,
    sizes: int,
    mapping: str,
    jobs: int,
    format: str | None,
    pages: Path | None,
    filter: int | None,
    as_json: bool,
) -> None:
    """Miss ratio by memory size."""
    from swaplab import _core

    reading = o.reading(format, pages, filter)
    if policy == "lru":
        with bar(f"reading {trace.name}") as listener:
            curve = json.loads(_core.mrc(trace, reading, mapping, sample, listener))
        about, total = curve["trace"], curve["references"]
        at = _sizes(about["footprint_pages"], sizes)
        points = [{"memory_pages": n, "miss_ratio": curve["misses"][n] / total} for n in at]
    else:
        if sample != 1.0:
            raise BadInput(f"--sample {sample}: {policy} is replayed in full; expected --sample with lru only")
        about = json.loads(_core.trace_info(trace, reading))
        request = {
            "policies": [policy],
            "memory": [f"{n}p" for n in _sizes(about["footprint_pages"], sizes)],
            "file_device": "ufs-3.1",
            "swap_device": "optane-m10",
            "first_touch": "charged",
            "mapping": mapping,
            "signal": "exact",
            "seed": 0,
            "jobs": jobs,
            "reading": json.loads(reading),
        }
        replayed = run_replay(trace, request)["points"]
        points = [{"memory_pages": p["memory_pages"], "miss_ratio": p["faults"] / p["references"]} for p in replayed]
    for point in points:
        point["filter_limited"] = point["memory_pages"] < about["valid_from_frames"]
    document = {"schema": 1, "kind": "simulated", "trace": about, "policy": policy, "mapping": mapping, "sample": sample, "points": points}
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        _table(document)


def _sizes(footprint: int, count: int) -> list[int]:
    """At most `count` sizes up to the footprint, evenly spaced."""
    return sorted({max(1, round(footprint * i / count)) for i in range(1, count + 1)})


def _table(document: dict[str, Any]) -> None:
    footprint = document["trace"]["footprint_pages"]
    print(f"{'pages':>12} {'% of footprint':>15} {'miss ratio':>11}")
    for point in document["points"]:
        n, ratio = point["memory_pages"], point["miss_ratio"]
        note = "  below the trace's filter" if point["filter_limited"] else ""
        print(f"{n:>12,} {100 * n / footprint:>15.1f} {ratio:>11.6f} {'#' * round(40 * ratio)}{note}")
