"""`swaplab energy`: DR.Swap's energy model for one run, scheme by scheme."""

from __future__ import annotations

import json

import typer

from swaplab.cli import options as o


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("energy")(energy)


def energy(
    swap: str = typer.Option(..., help="Size of the swap area, such as 128MiB."),
    seconds: float = typer.Option(..., help="Length of the run."),
    swap_ins: int = typer.Option(..., min=0, max=o.MOST, help="Every swap-in, those served by Direct Read among them."),
    direct_reads: int = typer.Option(0, min=0, max=o.MOST, help="Swap-ins that Direct Read serves in place; only nvm-direct has them."),
    swap_outs: int = typer.Option(..., min=0, max=o.MOST, help="Pages written to the swap area."),
    mode: str = typer.Option("paper", help="Reading of the equations: paper, physical or literal (docs/models/energy.md)."),
    lines: int = typer.Option(
        64, min=0, max=o.MOST, help="Cache lines read through each Direct Read mapping (64 at most); charged in `physical`."
    ),
    run: o.RunOption = None,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Energy of DRAM-backed swap, flash and NVM with Direct Read, by equations (1)-(14) of DR.Swap."""
    from swaplab import _core

    schemes: dict[str, dict[str, float]] = json.loads(_core.energy(swap, seconds, swap_ins, direct_reads, swap_outs, lines, mode))
    dram = schemes["dram"]["total_j"]
    savings = {name: 100 * (1 - energy["total_j"] / dram) for name, energy in schemes.items() if name != "dram"}
    document = {
        "schema": 1,
        "kind": "simulated",
        "mode": mode,
        "swap": swap,
        "seconds": seconds,
        "swap_ins": swap_ins,
        "direct_reads": direct_reads,
        "swap_outs": swap_outs,
        "schemes": schemes,
        "saving_vs_dram_percent": savings,
        # It follows from the paper's constants: over 99 % of DRAM's and NVM's total is background power.
        "verdict": "arithmetic",
    }
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        _table(schemes, savings, mode)
    o.write_report(document, "energy", run, as_json)


def _table(schemes: dict[str, dict[str, float]], savings: dict[str, float], mode: str) -> None:
    parts = ("background_j", "activate_j", "read_j", "write_j", "io_j", "total_j", "busy_s")
    print(f"{'':<11}" + "".join(f"{part:>13}" for part in parts) + f"{'saving':>9}")
    for name, energy in schemes.items():
        saving = f"{savings[name]:8.1f}%" if name in savings else f"{'-':>9}"
        print(f"{name:<11}" + "".join(f"{energy[part]:13.6f}" for part in parts) + saving)
    print(f"simulated, mode {mode}: arithmetic from the constants of DR.Swap's Table II; see `swaplab list devices` for sources")
