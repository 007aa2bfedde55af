"""`swaplab papers energy`: DR.Swap's energy model for one run, scheme by scheme."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter

from swaplab import _core
from swaplab.analysis.results import EnergyParts, EnergyResult
from swaplab.cli import options as o
from swaplab.cli.output import write_result

_SCHEMES = TypeAdapter(dict[str, EnergyParts])


def register(papers: typer.Typer) -> None:
    """Add the command."""
    papers.command("energy")(energy)


def energy(
    swap_size: Annotated[str, typer.Option("--swap-size", metavar="SIZE", help="Size of the swap area, such as 128MiB.")],
    length: Annotated[str, typer.Option("--length", metavar="TIME", help="Length of the run, such as 900s.")],
    swap_ins: Annotated[
        int, typer.Option("--swap-ins", min=0, max=o.MOST, metavar="N", help="All swap-ins, including those that Direct Read serves.")
    ],
    swap_outs: Annotated[int, typer.Option("--swap-outs", min=0, max=o.MOST, metavar="N", help="Pages written to the swap area.")],
    direct_reads: Annotated[
        int, typer.Option("--direct-reads", min=0, max=o.MOST, metavar="N", help="Swap-ins that Direct Read serves in place.")
    ] = 0,
    mode: Annotated[
        str, typer.Option("--mode", metavar="MODE", help="Variant of the equations: paper, physical or literal (docs/models/energy.md).")
    ] = "paper",
    lines: Annotated[
        int, typer.Option("--lines", min=0, max=64, metavar="N", help="Cache lines read through each mapping; charged in `physical`.")
    ] = 64,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write a folder with report.html here.")] = None,
    as_json: o.Json = False,
) -> None:
    """Compute the energy of DRAM-backed swap, flash and NVM with Direct Read, by equations (1)-(14)
    of DR.Swap.
    """
    seconds = _core.span_seconds("--length", length)
    schemes = _SCHEMES.validate_json(_core.energy(swap_size, seconds, swap_ins, direct_reads, swap_outs, lines, mode))
    dram = schemes["dram"].total_j
    savings = {name: 100 * (1 - parts.total_j / dram) for name, parts in schemes.items() if name != "dram"}
    result = EnergyResult(
        swap=swap_size,
        mode=mode,
        seconds=seconds,
        swap_ins=swap_ins,
        direct_reads=direct_reads,
        swap_outs=swap_outs,
        schemes=schemes,
        saving_vs_dram_percent=savings,
    )
    if output is not None:
        write_result(result, output, "energy")
    if as_json:
        # The result follows from the paper's constants: over 99 % of DRAM's and NVM's energy is
        # background power.
        print(json.dumps(result.model_dump() | {"verdict": "arithmetic"}, indent=2))
        return
    names = tuple(EnergyParts.model_fields)
    print(f"{'':<11}" + "".join(f"{name:>13}" for name in names) + f"{'saving':>9}")
    for name, parts in schemes.items():
        saving = f"{savings[name]:8.1f}%" if name in savings else f"{'-':>9}"
        print(f"{name:<11}" + "".join(f"{getattr(parts, part):13.6f}" for part in names) + saving)
    print(f"simulated, mode {mode}: arithmetic from the constants of DR.Swap's Table II; see `swaplab list devices` for sources")
