"""`swaplab top`: programs that `swaplab run` runs now, and what their pagers count, live."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from swaplab.cli import options as o
from swaplab.cli.parser import Parser

if TYPE_CHECKING:
    from rich.table import Table

    from swaplab.live.pager import Process


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("top", top)
    command.add_argument("--once", action="store_true", help="Print one table and end.")
    o.add_json(command)


def top(once: bool, as_json: bool) -> None:
    """Show each paged process: DRAM against its budget, evictions, direct reads, copies."""
    import time

    from rich.console import Console
    from rich.live import Live

    if as_json:
        print(json.dumps({"schema": 1, "kind": "measured", "processes": [p.counters for p in _alive()]}, indent=2))
        return
    if once:
        Console().print(_table(_alive()))
        return
    with Live(_table(_alive()), auto_refresh=False) as live:
        while True:
            time.sleep(1)
            live.update(_table(_alive()), refresh=True)


def _alive() -> list[Process]:
    from swaplab.live import pager

    found = [p for run in sorted(pager.runs_directory().iterdir()) if run.name.isdigit() for p in pager.processes(run)]
    return [p for p in found if p.counters["state"] == 1 and Path("/proc", str(p.pid)).exists()]


def _table(found: list[Process]) -> Table:
    from rich.table import Table

    table = Table("pid", "program", title="paged processes (Ctrl-C ends)")
    shown = ("DRAM MiB", "budget", "store MiB", "evicted", "read in place", "copied", "pager CPU s")
    for name in shown:
        table.add_column(name, justify="right")
    for process in found:
        c = process.counters
        program = Path("/proc", str(process.pid), "comm")
        mebibytes = [f"{c[name] / 2**20:.1f}" for name in ("dram_bytes", "dram_limit_bytes", "nvm_bytes")]
        counts = [f"{c[name]:,}" for name in ("swap_outs", "direct_reads", "copied_pages")]
        table.add_row(
            str(process.pid), program.read_text().strip() if program.exists() else "", *mebibytes, *counts, f"{c['pager_cpu_ns'] / 1e9:.2f}"
        )
    return table
