"""`swaplab exec`: a program on a limited DRAM budget, with NVM, a compressed pool or flash behind
it, on an unmodified kernel.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from swaplab.cli import options as o
from swaplab.cli.program import CONTEXT, Command
from swaplab.core import experiment as experiments
from swaplab.core.errors import BadInput
from swaplab.core.files import path_for_message
from swaplab.worlds.memory.environment import POLICY
from swaplab.worlds.memory.execute import execute


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("exec", context_settings=CONTEXT)(exec_program)


def exec_program(
    command: Command,
    dram: Annotated[str, typer.Option("--dram", metavar="SIZE", help="DRAM budget of each process for managed memory: 64MiB.")],
    swap: Annotated[
        str, typer.Option("--swap", metavar="S", help="Swap scheme of evicted pages: nvm-direct, nvm-copy, zram, flash or nvm-cache.")
    ] = "nvm-direct",
    policy: Annotated[str, typer.Option("--policy", metavar="P", help="Policy that chooses victims; it must need faults only.")] = POLICY,
    medium: Annotated[
        str,
        typer.Option(
            "--medium",
            metavar="M",
            help="plain, or a device whose latencies are charged when a page is moved: lpddr2-pcm, optane-m10, cxl-dram.",
        ),
    ] = "plain",
    nvm: Annotated[
        str, typer.Option("--nvm", metavar="DIR|node:N", help="A directory of a tmpfs, or node:N, instead of anonymous memory.")
    ] = "",
    flash: Annotated[str, typer.Option("--flash", metavar="DIR", help="A directory for the flash file, instead of /var/tmp.")] = "",
    unmanaged: Annotated[
        str, typer.Option("--unmanaged", metavar="refuse|warn", help="Refuse a program whose memory cannot be managed, or warn and run it.")
    ] = "refuse",
    set: o.Set = [],
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Write the faults and evictions here, as a trace (.slt).")
    ] = None,
    stats: Annotated[Path | None, typer.Option("--stats", metavar="FILE", help="Write the counters here, as JSON.")] = None,
) -> None:
    """Run a program on a DRAM budget, and exit with its exit code.

    Managed: private anonymous memory, whether it is allocated through libc or by system calls
    (malloc, mmap, reservations committed later); each process that the program starts or forks has
    the budget for itself. Not managed, and counted separately: code, files, stacks, shared and
    executable memory, memory locked by the program or with its own userfaultfd. Refused: static,
    set-uid and 32-bit programs, which cannot load the preload library.
    """
    if unmanaged not in ("refuse", "warn"):
        raise BadInput(f"--unmanaged: '{path_for_message(unmanaged)}'; expected refuse or warn")
    table = {
        "name": "exec",
        "machine": {"dram": dram},
        "design": [{"name": "exec", "policy": policy, "swap": swap}],
        "workload": {"apps": [{"command": command}]},
        "run": {"on": ["memory"], "memory": {"medium": medium, "nvm": nvm, "flash": flash, "unmanaged": unmanaged}},
    }
    experiment = experiments.from_options(table, set)
    experiments.refuse(experiment, "exec")
    sys.exit(execute(experiment, stats, record))
