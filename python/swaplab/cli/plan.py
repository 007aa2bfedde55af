"""`swaplab plan`: how much memory and which swap a page trace needs, or a user's launches, with the evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar
from swaplab.cli.replay import print_columns, run_replay

if TYPE_CHECKING:
    from swaplab.plan import Target
    from swaplab.plan_launches import Asked

SIZES = "5%,7%,10%,14%,20%,28%,40%,57%,80%"
SCHEMES = "flash,zram,nvm-copy,nvm-direct"
#: For a launch sequence: swap sizes and schemes.
AREAS = "128MiB,256MiB,512MiB,1024MiB"
SWAPS = "zram,nvm-direct,flash"


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("plan", plan)
    o.add_trace(command)
    text = "Time to stay below (of a page trace in all, of a launch in the mean): 0.5s, or percent above the least found, 10%%."
    command.add_argument("--target", default="10%", help=text)
    command.add_argument("--policy", default="clock", help="Page traces: the reclamation policy.")
    text = f"Page traces: memory sizes to try; default {SIZES}.".replace("%", "%%")
    command.add_argument("--memory", action="append", help=text)
    command.add_argument("--swap", action="append", help=f"Launches: sizes of swap to try; default {AREAS}.")
    command.add_argument("--scheme", action="append", help=f"Swap schemes to try; default {SCHEMES}; launches: {SWAPS}.")
    text = "Launches: the experiment whose phone and apps to take."
    command.add_argument("--phone", default="a2s-large", metavar="EXP.toml|PRESET", help=text)
    text = "Launches: phones to run, each with app sizes of its own."
    command.add_argument("--seeds", type=o.whole(1), default=4, help=text)
    text = "Launches: price of a byte relative to DRAM's; default dram=1,nvm=0.5,flash=0.03."
    command.add_argument("--price", help=text)
    command.add_argument("--seconds", type=o.number(), help="Length of the run, for background energy and wear.")
    for add in (o.add_jobs, o.add_run, o.add_format, o.add_pages, o.add_json):
        add(command)


def plan(
    trace: Path,
    target: str,
    policy: str,
    memory: list[str] | None,
    swap: list[str] | None,
    scheme: list[str] | None,
    phone: str,
    seeds: int,
    price: str | None,
    seconds: float | None,
    jobs: int,
    run: Path | None,
    format: str | None,
    pages: Path | None,
    as_json: bool,
) -> None:
    """Find the cheapest memory size and swap scheme that meet a target, and every choice no other beats. A page trace is replayed; a launch
    sequence runs on the simulated phone."""
    from swaplab import _core
    from swaplab.plan import Target
    from swaplab.plan import plan as planned

    aim = Target.parse(target)
    reading = o.reading(format, pages)
    if json.loads(_core.trace_info(trace, reading))["kind"] == "launch":
        from swaplab.plan_launches import Asked, parse_prices

        asked = Asked(o.listed(scheme or [SWAPS]), o.listed(swap or [AREAS]), parse_prices(price))
        _finish(_of_launches(trace, aim, asked, phone, seeds, jobs, reading), as_json, run)
        return
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
    _finish(planned(replayed, aim, points), as_json, run)


def _of_launches(trace: Path, aim: Target, asked: Asked, phone: str, seeds: int, jobs: int, reading: str) -> dict[str, Any]:
    from swaplab import BadInput, _core
    from swaplab.cli.init import PRESETS
    from swaplab.experiment import read_experiment
    from swaplab.model import sim
    from swaplab.plan_launches import experiment, plan_launches

    preset = PRESETS / f"{phone}.toml"
    base = read_experiment(preset if preset.is_file() else Path(phone))
    if not base.get("sim"):
        raise BadInput(f"--phone {phone}: no [sim] table; expected an experiment of the simulated phone")
    reuse = json.loads(_core.trace_analyze(trace, reading))["reuse"]
    with bar(f"launching {trace.name}") as listener:
        document = sim.run(experiment(base, str(trace), asked, seeds), jobs, listener)
    return plan_launches(document, aim, asked, reuse)


def _finish(document: dict[str, Any], as_json: bool, run: Path | None) -> None:
    if as_json:
        print(json.dumps(document, indent=2))
    elif "schemes" in document:
        _launch_table(document)
    else:
        _table(document)
    o.write_report(document, "plan", run, as_json)


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


def _launch_table(document: dict[str, Any]) -> None:
    from swaplab.plan_launches import answer

    found, mib = document["plan"], 1 / (1 << 20)
    head = ("swap", "price MiB", "more DRAM MiB", "launch ms", "95 % ms", "cold", "kills", "energy J", "to NVM MiB/day", "to flash MiB/day")
    rows: list[tuple[str, ...]] = [head]
    best = {row["name"] for row in found["front"]}
    for row in found["sizes"]:
        numbers = (row["price_mib"], row["dram_bytes"] * mib, row["time_ms"], row["p95_ms"], row["cold_starts"], row["kills"])
        joules = "-" if row["energy_j"] is None else f"{row['energy_j']:.1f}"
        written = (row[key] * mib for key in ("nvm_write_bytes_a_day", "flash_write_bytes_a_day"))
        name = row["name"] + (" *" if row["name"] in best else "")
        rows.append((name, *(f"{number:.1f}" for number in numbers), joules, *(f"{number:.1f}" for number in written)))
    print_columns(rows, left=(0,))
    curve = {point["live_apps"]: point["miss_ratio"] for point in document["mrc"]["points"]}
    shown = [apps for apps in (2, 4, 8, 12, 16, 20, len(curve) - 1) if apps in curve]
    print("cold starts by apps that stay alive: " + ", ".join(f"{apps}: {100 * curve[apps]:.0f} %" for apps in dict.fromkeys(shown)))
    print("simulated; * no other beats it in price and launch time; prices relative to DRAM's and app sizes are assumed")
    print(answer(document))
