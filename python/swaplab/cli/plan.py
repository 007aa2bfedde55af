"""`swaplab plan`: how much memory and which swap a trace needs, with the evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.cli.replay import print_columns, run_replay

SIZES = "5%,7%,10%,14%,20%,28%,40%,57%,80%"
SCHEMES = "flash,zram,nvm-copy,nvm-direct"


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("plan")(plan)


def plan(
    trace: o.TraceArgument,
    target: Annotated[str, typer.Option(help="Time to stay below: seconds (0.5s), or percent above the least time found (10%).")] = "10%",
    policy: Annotated[str, typer.Option(help="The reclamation policy.")] = "clock",
    memory: Annotated[list[str] | None, typer.Option("--memory", help=f"Sizes to try; default {SIZES}.")] = None,
    scheme: Annotated[list[str] | None, typer.Option(help=f"Swap schemes to try; default {SCHEMES}.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Length of the run, for background energy and wear.")] = None,
    jobs: o.JobsOption = 0,
    run: Annotated[Path | None, typer.Option("--run", metavar="DIR", help="Also write a run folder with report.html below DIR.")] = None,
    format: o.FormatOption = None,
    pages: o.PagesOption = None,
    as_json: o.JsonOption = False,
) -> None:
    """Find the cheapest memory size and swap scheme that meet a target, and every choice no other beats."""
    from swaplab import _core
    from swaplab.plan import Target
    from swaplab.plan import plan as planned

    aim = Target.parse(target)
    reading = o.reading(format, pages)
    request = {
        "policies": [policy],
        "memory": o.listed(memory or [SIZES]),
        "file_device": "ufs-3.1",
        "swap_device": None,
        "schemes": o.listed(scheme or [SCHEMES]),
        "seconds": seconds,
        "first_touch": None,
        "mapping": "follow",
        "signal": "exact",
        "seed": 0,
        "jobs": jobs,
        "reading": json.loads(reading),
    }
    replayed = run_replay(trace, request)
    with bar(f"reading {trace.name}") as listener:
        curve = json.loads(_core.mrc(trace, reading, "follow", 1.0, listener))
    footprint = replayed["trace"]["footprint_pages"]
    sizes = sorted({max(1, footprint * at // 100) for at in range(1, 101)})
    limit = replayed["trace"]["valid_from_frames"]
    points = [{"memory_pages": n, "miss_ratio": curve["misses"][n] / curve["references"], "filter_limited": n < limit} for n in sizes]
    document = planned(replayed, aim, points)
    print(json.dumps(document, indent=2)) if as_json else _table(document)
    if run is not None:
        from swaplab.run_folder import write_run

        typer.echo(f"report: {write_run(document, 'plan', run)}", err=as_json)


def _table(document: dict[str, Any]) -> None:
    from swaplab.plan import answer

    found = document["plan"]
    rows: list[tuple[str, ...]] = [("scheme", "memory", "frames MiB", "DRAM MiB", "NVM MiB", "flash MiB", "time s", "energy J")]
    for row in found["front"]:
        sizes = (f"{row[key] / 2**20:.1f}" for key in ("frames_bytes", "dram_total_bytes", "nvm_bytes", "flash_bytes"))
        joules = "-" if row["energy_j"] is None else f"{row['energy_j']:.4f}"
        rows.append((row["scheme"], row["memory"], *sizes, f"{row['time_s']:.3f}", joules))
    print_columns(rows, left=(0,))
    print("simulated; each of these is beaten by no other in both DRAM and time")
    if found["filter_limited_points"]:
        print(f"{found['filter_limited_points']} points below what the trace's filter allows are left out")
    print(answer(document))
