"""`swaplab demo`: the main job on the bundled real traces and on the simulated phone, tables and a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.replay import print_columns, run_replay

#: Programs whose traces come with the package, the one with most valid points first (data/PROVENANCE.md).
PROGRAMS = ("node", "djpeg", "chromium")
MEMORY = ("5%", "10%", "15%", "20%", "25%")
#: The phone's part: A2S' large workload, cut to what takes a second.
PHONE, SCHEMES = ("sim.launches=zipf:launches=96", "sim.seeds=1"), ("no swap", "vanilla flash swap", "A2S", "A2S, nvm-direct")
#: What the paper's Fig. 4 stacks.
PARTS = ("swap_read_ns", "swap_write_ns", "file_read_ns")


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("demo", demo)
    command.add_argument("--run", type=Path, default=Path("runs"), metavar="DIR", help="Where to put the run folder.")
    o.add_jobs(command)
    o.add_json(command)


def demo(run: Path, jobs: int, as_json: bool) -> None:
    """Replay the bundled traces under every policy, play launches on the simulated phone, print what it costs, write a report."""
    from swaplab import _core
    from swaplab.cli.sim import table
    from swaplab.run_folder import write_run

    data = Path(__file__).parent.parent / "data"
    policies = [row["key"] for row in json.loads(_core.policies()) if not row["offline"]]
    request = {
        "policies": policies,
        "memory": list(MEMORY),
        "file_device": "ufs-3.1",
        "swap_device": "optane-m10",
        "first_touch": "charged",
        "mapping": "follow",
        "signal": "exact",
        "seed": 0,
        "jobs": jobs,
    }
    runs = []
    for program in PROGRAMS:
        document = run_replay(data / f"{program}.slt", request)
        curve = json.loads(_core.mrc(data / f"{program}.slt", "{}", "follow", 1.0))
        footprint = document["trace"]["footprint_pages"]
        sizes = [max(1, footprint * i // 100) for i in range(1, 101)]
        document["mrc"] = {"points": [{"memory_pages": n, "miss_ratio": curve["misses"][n] / curve["references"]} for n in sizes]}
        runs.append(document)
        if not as_json:
            print_trace(program, document)
    phone = simulated_phone(jobs)
    document = {"schema": 1, "kind": "simulated", "runs": [*runs, phone]}
    page = write_run(document, "demo", run)
    if as_json:
        print(json.dumps(document | {"report": str(page)}, indent=2))
    else:
        print("simulated: swap on optane-m10, files on ufs-3.1, every policy with the same number of page frames")
        print("* not to be trusted and left out of verdicts: fewer frames than the trace's filter allows")
        print(f"\nphone: {phone['schemes'][0]['launches']:.0f} launches of A2S' large workload, 1.5 GB of DRAM, 1 GB of swap")
        table(phone)
        print(f"report: {page}")


def simulated_phone(jobs: int) -> dict[str, Any]:
    """The document of a short run of the built-in phone."""
    from swaplab.cli.init import PRESETS
    from swaplab.experiment import read_experiment
    from swaplab.model import sim

    experiment = read_experiment(PRESETS / "a2s-large.toml", list(PHONE))
    schemes = [scheme for scheme in experiment["sim"]["schemes"] if scheme["name"] in SCHEMES]
    for scheme in schemes:
        scheme.pop("published", None)  # the paper's are of 256 launches
    experiment["sim"]["schemes"] = schemes
    return sim.run(experiment, jobs)


def print_trace(program: str, document: dict[str, Any]) -> None:
    """One trace's table: I/O time relative to CLOCK by size, and how it splits at the smallest valid size (the paper's Fig. 4)."""
    trace, points = document["trace"], document["points"]
    at = {(p["policy"], p["memory"]): p for p in points}
    valid = [m for m in MEMORY if not at["clock", m]["filter_limited"]]
    where = valid[0] if valid else MEMORY[-1]
    print(
        f"{program}: {trace['references']:,} references to {trace['footprint_pages']:,} pages; I/O time, CLOCK = 1 (file writes left out)"
    )
    rows = [("policy", *(m if m in valid else f"{m} *" for m in MEMORY), f"at {where}:", "swap read", "swap write", "file read")]
    for policy in dict.fromkeys(p["policy"] for p in points):
        ratios = (_ratio(at[policy, m], at["clock", m]) for m in MEMORY)
        here, clock = at[policy, where], at["clock", where]
        parts = (f"{here[part] / max(1, _time(clock)):.3f}" for part in PARTS)
        rows.append((policy, *ratios, "", *parts))
    print_columns(rows, left=(0,))
    print()


def _time(point: dict[str, Any]) -> int:
    return sum(int(point[part]) for part in PARTS)


def _ratio(point: dict[str, Any], clock: dict[str, Any]) -> str:
    return f"{_time(point) / _time(clock):.3f}" if _time(clock) else "-"
