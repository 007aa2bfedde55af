"""`swaplab trace capture-block`: run a program under memory pressure and write the trace of its disk's requests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def register(parent: typer.Typer) -> None:
    """Add the subcommand."""
    parent.command("capture-block")(capture_block)


def capture_block(
    command: Annotated[list[str], typer.Argument(metavar="-- CMD...", help="The program and its arguments.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="The trace to write: ftrace's text.")],
    memory: Annotated[str, typer.Option("--memory", help="What the program may have resident.")] = "256MiB",
    swap_device: Annotated[str, typer.Option("--swap-device", help="file (on /var/tmp) or ramdisk.")] = "file",
    swap_size: Annotated[str, typer.Option("--swap-size", help="Size of the swap area made for the run.")] = "512MiB",
    buffer: Annotated[str, typer.Option("--buffer", help="Kernel memory for events, a processor.")] = "32MiB",
    allow_lost: Annotated[bool, typer.Option("--allow-lost", help="Write the trace though events were lost.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print every change to the machine and make none.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, to standard error.")] = False,
) -> None:
    """Run CMD in a memory cgroup over a swap area of its own; record completed block requests and swap events.

    Needs root. The machine's counters must agree with the trace, so nobody else should swap meanwhile.
    """
    from swaplab._core import size_bytes
    from swaplab.capture import block
    from swaplab.live.capabilities import require
    from swaplab.live.journal import Machine

    sizes = {name: size_bytes(f"--{name}", text) for name, text in (("memory", memory), ("swap-size", swap_size), ("buffer", buffer))}
    require(block.NEEDS, "trace capture-block")
    plan = block.BlockPlan(tuple(command), output, sizes["memory"], swap_device, sizes["swap-size"], sizes["buffer"] >> 10, allow_lost)
    with Machine(dry_run=dry_run, say=print if dry_run else lambda line: None).opened() as machine:
        document, code = block.capture(plan, machine)
    if dry_run:
        return
    if as_json:
        print(json.dumps({"schema": 1, **document}, indent=2), file=sys.stderr)
    else:
        agree = "equal to the kernel's counters" if document["exact"] else "NOT equal to the kernel's counters"
        swapped = f"{document['swap_read_bytes']:,} bytes swapped in, {document['swap_write_bytes']:,} out ({agree})"
        print(f"swaplab: {document['requests']:,} requests in {output}; {swapped}", file=sys.stderr)
    raise typer.Exit(code)
