"""`swaplab energy`: DR.Swap's energy model for one run, scheme by scheme."""

from __future__ import annotations

import json
from pathlib import Path

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("energy", energy)
    command.add_argument("--swap", required=True, help="Size of the swap area, such as 128MiB.")
    command.add_argument("--seconds", type=o.number(), required=True, help="Length of the run.")
    text = "Every swap-in, those served by Direct Read among them."
    command.add_argument("--swap-ins", type=o.whole(0), required=True, help=text)
    text = "Swap-ins that Direct Read serves in place; only nvm-direct has them."
    command.add_argument("--direct-reads", type=o.whole(0), default=0, help=text)
    command.add_argument("--swap-outs", type=o.whole(0), required=True, help="Pages written to the swap area.")
    text = "Reading of the equations: paper, physical or literal (docs/models/energy.md)."
    command.add_argument("--mode", default="paper", help=text)
    text = "Cache lines read through each Direct Read mapping (64 at most); charged in `physical`."
    command.add_argument("--lines", type=o.whole(0), default=64, help=text)
    o.add_run(command)
    o.add_json(command)


def energy(
    swap: str,
    seconds: float,
    swap_ins: int,
    direct_reads: int,
    swap_outs: int,
    mode: str,
    lines: int,
    run: Path | None,
    as_json: bool,
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
