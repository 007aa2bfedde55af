"""`swaplab sim`: what a user feels: launches, resumes and kills of apps on the simulated phone, with each scheme."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swaplab import BadInput
from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar

#: Tolia's classes of what a user feels, best first (READING 004).
FEELINGS = ("crisp", "noticeable", "annoying", "unacceptable", "unusable")


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("sim", sim)
    text = "A file with a [sim] or [bench] table, or a2s-large, a2s-medium, a2s-small, against-sim."
    command.add_argument("experiment", metavar="EXP.toml|PRESET", help=text)
    o.add_set(command, "sim.seeds=20")
    for add in (o.add_jobs, o.add_run, o.add_json):
        add(command)


def sim(experiment: str, set: list[str] | None, jobs: int, run: Path | None, as_json: bool) -> None:
    """Simulate app launches on a phone with each swap scheme."""
    from swaplab.cli.init import PRESETS
    from swaplab.experiment import read_experiment
    from swaplab.live.bench.spec import built_in

    place = PRESETS / f"{experiment}.toml"
    if not place.is_file():
        place = built_in("experiments").get(experiment, Path(experiment))
    resolved = read_experiment(place, set or [])
    tables: dict[str, Any] | None = None if run is None else {}
    with bar(f"simulating {experiment}") as listener:
        document = simulated(resolved, experiment, jobs, listener, tables)
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        table(document)
    if run is not None:
        from swaplab.run_folder import write_run

        page = write_run(document, Path(experiment).stem, run, int(document["experiment"]["seed"]), tables)
        print(f"report: {page}", file=sys.stderr if as_json else sys.stdout)


def simulated(
    resolved: dict[str, Any], place: str, jobs: int, listener: Callable[[int, int], None] | None, tables: dict[str, Any] | None
) -> dict[str, Any]:
    """The document of a resolved experiment with a [sim], or with a [bench] whose apps the simulated phone has; `tables` of the former."""
    if resolved.get("bench"):
        from swaplab.live import simulated as counterpart
        from swaplab.live.bench import spec

        wanted = spec.of_bench(resolved, place)
        return counterpart.run(wanted, spec.load_apps(spec.table(wanted), place), place, jobs=jobs)
    if not resolved.get("sim"):
        raise BadInput(f"{place}: no [sim] table; expected an experiment of the simulated phone, or one of `swaplab bench`")
    from swaplab.model import sim as model

    return model.run(resolved, jobs, listener, tables)


def table(document: dict[str, Any]) -> None:
    """Print a line a scheme."""
    from swaplab.cli.replay import print_columns
    from swaplab.published import beside

    rows: list[tuple[str, ...]] = [
        ("scheme", "resumes", "cold", "kills", "in MiB", "out MiB", "direct", "launch p50", "p95 ms", "J", "DRAM MiB")
    ]
    for one in document["schemes"]:
        memory = one["memory"]
        rows.append(
            (
                _named(one),
                *(f"{one[key]:.1f}" for key in ("resumes", "cold_starts", "kills")),
                *(f"{one[key] / 2**20:.1f}" for key in ("swap_in_bytes", "swap_out_bytes")),
                f"{one['direct_reads']:,.0f}",
                *(f"{one['launch_ms'][key]:.0f}" for key in ("p50", "p95")),
                f"{one['energy_j']['total']:.1f}",
                f"{memory['dram_total_bytes'] / 2**20:.0f}",
            )
        )
    print_columns(rows, left=(0,))
    _feelings_and_lifetimes(document["schemes"])
    if found := beside(document["schemes"]):
        print("\nbeside the paper's figures")
        said = [(one.scheme, one.what, f"{one.published:.1f}", "-" if one.ours is None else f"{one.ours:.1f}") for one in found]
        print_columns([("scheme", "", "published", "here"), *said], left=(0, 1))
    runs = len(document["schemes"][0]["seeds"])
    built = "; generated launches: what follows from their independence is premise-built" if document["premise_built"] else ""
    over = "one seed" if runs == 1 else f"means over {runs} seeds"
    print(f"simulated; {over}; app sizes and times are assumed (`swaplab schema`){built}")


def _named(scheme: dict[str, Any]) -> str:
    return str(scheme["name"]) + (f" {scheme['swap_bytes'] >> 20} MiB" if scheme.get("swap_bytes") else "")


def _feelings_and_lifetimes(schemes: list[dict[str, Any]]) -> None:
    """How launches felt, and how long the owners of swapped-out pages lived on."""
    from swaplab.cli.replay import print_columns

    bounds = sorted(schemes[0]["entry_lifetime_s"]["below"], key=int)
    rows = [("launches in %, swap entries in %", *FEELINGS, *(f"dead < {bound} s" for bound in bounds), "never")]
    for one in schemes:
        life = one["entry_lifetime_s"]
        shares = [one["ux"][name] / one["launches"] for name in FEELINGS] + [life["below"][bound] for bound in bounds] + [life["never"]]
        rows.append((_named(one), *("-" if share is None else f"{100 * share:.1f}" for share in shares)))
    print()
    print_columns(rows, left=(0,))
