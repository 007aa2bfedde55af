"""`swaplab trace mrc`: the miss-ratio curve of a trace."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab.analysis.results import Curve, CurvePoint
from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.core import experiment as experiments
from swaplab.core.files import path_for_message, utf8_name
from swaplab.core.trace import TraceInfo, lru_curve
from swaplab.worlds import run
from swaplab.worlds.inputs import trace_input
from swaplab.worlds.result import Options
from swaplab.worlds.traces import lasting


def register(trace: typer.Typer) -> None:
    """Add the command."""
    trace.command("mrc")(mrc)


def mrc(
    trace: o.TraceFile,
    policy: Annotated[
        str, typer.Option("--policy", metavar="P", help="lru is exact at every size; others are replayed at --sizes sizes.")
    ] = "lru",
    sample: Annotated[float, typer.Option("--sample", metavar="SHARE", help="SHARDS: sample this share of the pages (lru only).")] = 1.0,
    sizes: Annotated[
        int, typer.Option("--sizes", min=1, max=10_000, metavar="N", help="Sizes to show, evenly spaced up to the footprint.")
    ] = 100,
    mapping: Annotated[str, typer.Option("--mapping", metavar="HOW", help="follow (unmap and discard free pages) or ignore.")] = "follow",
    jobs: o.Jobs = 0,
    format: o.Format = None,
    pages: o.Pages = None,
    filter: o.Filter = None,
    as_json: o.Json = False,
) -> None:
    """Compute the miss ratio by memory size."""
    reading = o.reading(format, pages, filter)
    source = lasting(trace)
    info = TraceInfo.of(source, reading)
    at = sorted({max(1, round(info.footprint_pages * i / sizes)) for i in range(1, sizes + 1)})
    with bar(f"reading {path_for_message(trace.name)}") as listener:
        if policy == "lru":
            curve = lru_curve(source, reading, mapping, sample)
            ratios = {n: curve.misses[n] / curve.references for n in at}
        elif sample != 1.0:
            raise BadInput(f"--sample {sample}: {policy} is replayed in full; expected --sample with lru only")
        else:
            table = {
                "design": [{"policy": policy}],
                "workload": {"trace": utf8_name(source), "reading": json.loads(experiments.dumped(reading))},
                "run": {"on": ["replay"], "replay": {"mapping": mapping, "first_touch": "charged"}},
                "vary": {"machine.dram": [f"{n}p" for n in at]},
            }
            document = run(experiments.from_options(table), Options(jobs=jobs, listener=listener)).document
            ratios = {n: (row.paging.faults or 0) / (row.paging.references or 1) for n, row in zip(at, document.rows, strict=True)}
    if as_json:
        points = [CurvePoint(memory_pages=n, miss_ratio=ratio, filter_limited=n < info.valid_from_frames) for n, ratio in ratios.items()]
        print(Curve(trace=trace_input(trace, info), policy=policy, mapping=mapping, sample=sample, points=points).model_dump_json(indent=2))
        return
    print(f"{'pages':>12} {'% of footprint':>15} {'miss ratio':>11}")
    for n, ratio in ratios.items():
        note = "  below the trace's filter" if n < info.valid_from_frames else ""
        print(f"{n:>12,} {100 * n / info.footprint_pages:>15.1f} {ratio:>11.6f} {'#' * round(40 * ratio)}{note}")
