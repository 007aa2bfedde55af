"""`swaplab sim`: what a user feels: launches, resumes and kills of apps on the simulated phone, with each scheme."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.cli.replay import Folder


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("sim")(sim)


def sim(
    experiment: Annotated[
        str, typer.Argument(metavar="EXP.toml|PRESET", help="A file with a [sim] table, or a2s-large, a2s-medium, a2s-small.")
    ],
    set: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as sim.seeds=20.")] = None,
    jobs: o.JobsOption = 0,
    run: Folder = None,
    as_json: o.JsonOption = False,
) -> None:
    """Simulate app launches on a phone with each swap scheme."""
    from swaplab import BadInput
    from swaplab.cli.init import PRESETS
    from swaplab.experiment import read_experiment
    from swaplab.model import sim as model

    preset = PRESETS / f"{experiment}.toml"
    resolved = read_experiment(preset if preset.is_file() else Path(experiment), set or [])
    if not resolved.get("sim"):
        raise BadInput(f"{experiment}: no [sim] table; expected an experiment of the simulated phone")
    tables: dict[str, Any] | None = None if run is None else {}
    with bar(f"simulating {experiment}") as listener:
        document = model.run(resolved, jobs, listener, tables)
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        table(document)
    if run is not None:
        from swaplab.run_folder import write_run

        page = write_run(document, Path(experiment).stem, run, int(resolved["seed"]), tables)
        typer.echo(f"report: {page}", err=as_json)


def table(document: dict[str, Any]) -> None:
    """Print a line a scheme."""
    from swaplab.cli.replay import print_columns

    rows = [("scheme", "resumes", "cold", "kills", "in MiB", "out MiB", "direct", "launch p50", "p95 ms", "J", "DRAM MiB", "never dead")]
    for one in document["schemes"]:
        memory, life = one["memory"], one["entry_lifetime_s"]["never"]
        rows.append(
            (
                one["name"],
                *(f"{one[key]:.1f}" for key in ("resumes", "cold_starts", "kills")),
                *(f"{one[key] / 2**20:.1f}" for key in ("swap_in_bytes", "swap_out_bytes")),
                f"{one['direct_reads']:,.0f}",
                *(f"{one['launch_ms'][key]:.0f}" for key in ("p50", "p95")),
                f"{one['energy_j']['total']:.1f}",
                f"{memory['dram_total_bytes'] / 2**20:.0f}",
                "-" if life is None else f"{100 * life:.1f} %",
            )
        )
    print_columns(rows, left=(0,))
    runs = len(document["schemes"][0]["seeds"])
    built = "; generated launches: what follows from their independence is premise-built" if document["premise_built"] else ""
    print(f"simulated; means over {runs} seeds; app sizes and times are assumed (`swaplab schema`){built}")
