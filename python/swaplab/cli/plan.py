"""`swaplab plan`: the memory size and swap scheme that a page trace or a user's launches need, with
the evidence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab.analysis import plan as plans
from swaplab.analysis.plan import Plan, SearchSpace, SizePoint, Target
from swaplab.analysis.verdict import plural
from swaplab.cli import options as o
from swaplab.cli.output import write_result
from swaplab.cli.progress import bar
from swaplab.cli.table import print_columns, scaled
from swaplab.core import experiment as experiments
from swaplab.core.files import path_for_message, utf8_name
from swaplab.core.trace import TraceInfo, cold_starts_by_live_apps, lru_curve
from swaplab.core.trace import as_json as reading_json
from swaplab.worlds import run
from swaplab.worlds.result import Options
from swaplab.worlds.traces import lasting

SIZES = "5%,7%,10%,14%,20%,28%,40%,57%,80%"
SCHEMES = "flash,zram,nvm-copy,nvm-direct"
#: Defaults for launches: sizes of the swap area, and schemes.
AREAS = "128MiB,256MiB,512MiB,1024MiB"
LAUNCH_SCHEMES = "zram,zswap,tiered,nvm-direct,flash"
MIB = float(1 << 20)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE", help="A page trace (a bundled one by its name), or a trace of launches.", callback=experiments.trace_path
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            "--below",
            metavar="T",
            help="Limit on the time (total of a page trace, mean of launches), such as 0.5s, or percent above the least, such as 10%.",
        ),
    ] = "10%",
    policy: Annotated[str, typer.Option("--policy", metavar="P", help="Page traces: the policy.")] = "clock",
    memory: Annotated[list[str], typer.Option("--memory", metavar="M,..", help=f"Page traces: memory sizes to try (default: {SIZES}).")] = [
        SIZES
    ],
    swap: Annotated[list[str], typer.Option("--swap", metavar="S,..", help="Schemes to try.")] = [],
    swap_size: Annotated[
        list[str], typer.Option("--swap-size", metavar="SIZE,..", help=f"Launches: sizes of the swap area to try (default: {AREAS}).")
    ] = [AREAS],
    machine: Annotated[
        str, typer.Option("--experiment", metavar="EXP", help="Launches: the experiment with the machine and apps.")
    ] = "a2s-large",
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=10_000, metavar="N", help="Launches: number of runs; each draws its own app sizes.")
    ] = 4,
    price: Annotated[
        str | None, typer.Option("--price", metavar="P", help="Price of a byte relative to DRAM's (default: dram=1,nvm=0.5,flash=0.03).")
    ] = None,
    length: Annotated[
        str | None, typer.Option("--length", metavar="TIME", help="Page traces: length of the run, for background energy and wear.")
    ] = None,
    jobs: o.Jobs = 0,
    format: o.Format = None,
    pages: o.Pages = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write a folder with report.html here.")] = None,
    as_json: o.Json = False,
) -> None:
    """Find the cheapest memory size and swap scheme that meet a target, and all Pareto-optimal
    choices.
    """
    aim, prices = Target.parse(target), plans.parse_prices(price)
    reading, trace = o.reading(format, pages), lasting(trace)
    info = TraceInfo.of(trace, reading)
    options = Options(jobs=jobs)
    with bar(f"planning {path_for_message(trace.name)}") as listener:
        options = Options(jobs=jobs, listener=listener)
        if info.kind == "launch":
            asked = SearchSpace(o.split_list(swap or [LAUNCH_SCHEMES]), o.split_list(swap_size))
            wanted = experiments.resolve(plans.experiment(experiments.read(machine), utf8_name(trace), asked, seeds), "plan")
            document = run(wanted, options, place="plan").document
            planned = plans.plan(document, aim, prices, cold_starts_by_live_apps=cold_starts_by_live_apps(trace, reading))
        else:
            replay = {"length": length} if length else {}
            table = {
                "name": "plan",
                "design": [{"policy": policy, "swap": o.split_list(swap or [SCHEMES])}],
                "workload": {"trace": utf8_name(trace), "reading": json.loads(reading_json(reading))},
                "run": {"on": ["replay"], "replay": replay},
                "vary": {"machine.dram": o.split_list(memory)},
            }
            document = run(experiments.from_options(table), options, place="plan").document
            curve = lru_curve(trace, reading)
            sizes = sorted({max(1, info.footprint_pages * at // 100) for at in range(1, 101)})
            limit = info.valid_from_frames
            points = [SizePoint(frames=n, miss_ratio=curve.misses[n] / curve.references, filter_limited=n < limit) for n in sizes]
            planned = plans.plan(document, aim, prices, points)
    if output is not None:
        write_result(planned, output, "plan")
    print(planned.model_dump_json(indent=2)) if as_json else _table(planned)


def _table(planned: Plan) -> None:
    head = ("design", "memory", "price MiB", "DRAM MiB", "NVM MiB", "flash MiB", f"time {planned.unit}", "cold", "kills", "energy J")
    rows: list[tuple[str, ...]] = [head]
    for choice in planned.front:
        sizes = (scaled(value, MIB) for value in (choice.dram_bytes, choice.nvm_bytes, choice.flash_bytes))
        counts = (scaled(value, 1.0) for value in (choice.cold, choice.kills, choice.energy_j))
        rows.append((choice.design, choice.memory, scaled(choice.price_mib, 1.0), *sizes, scaled(choice.time, 1.0, 3), *counts))
    print_columns(rows, left=(0, 1))
    print(f"{planned.kind}; no other choice is better in both price and time than one of these")
    if planned.left_out:
        print(f"left out: {plural(planned.left_out, 'choice')} below what the trace's filter allows")
    for line in planned.warnings:
        print(f"note: {line}")
    print(plans.answer(planned))
