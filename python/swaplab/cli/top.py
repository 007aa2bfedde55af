"""`swaplab top`: the running programs of `swaplab exec`, with their pagers' counters, live."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from swaplab.cli import options as o
from swaplab.worlds.memory import pager
from swaplab.worlds.memory.pager import Process


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("top")(top)


def top(
    once: Annotated[bool, typer.Option("--once", help="Print one table and exit.")] = False,
    as_json: o.Json = False,
) -> None:
    """Show each paged process: DRAM against its budget, evictions, direct reads, copies."""
    if as_json:
        print(json.dumps({"kind": "measured", "processes": [process.counters for process in _running_processes()]}, indent=2))
        return
    if once:
        Console().print(_table(_running_processes()))
        return
    with Live(_table(_running_processes()), auto_refresh=False) as live:
        while True:
            time.sleep(1)
            live.update(_table(_running_processes()), refresh=True)


def _running_processes() -> list[Process]:
    listed = [p for run in sorted(pager.runs_directory().iterdir()) if run.name.isdigit() for p in pager.processes(run)]
    return [p for p in listed if p.counters["state"] == pager.RUNNING and Path("/proc", str(p.pid)).exists()]


def _table(listed: list[Process]) -> Table:
    table = Table("pid", "program", title="paged processes (Ctrl-C ends)")
    for name in ("DRAM MiB", "budget MiB", "store MiB", "evicted", "read in place", "copied", "pager CPU s"):
        table.add_column(name, justify="right")
    for process in listed:
        c = process.counters
        program = Path("/proc", str(process.pid), "comm")
        sizes = [f"{size / 2**20:.1f}" for size in (c["dram_bytes"], c["dram_limit_bytes"], c["nvm_bytes"] + c["flash_bytes"])]
        counts = [f"{c[name]:,}" for name in ("swap_outs", "direct_reads", "copied_pages")]
        name = program.read_text().strip() if program.exists() else ""
        table.add_row(str(process.pid), name, *sizes, *counts, f"{c['pager_cpu_ns'] / 1e9:.2f}")
    return table
