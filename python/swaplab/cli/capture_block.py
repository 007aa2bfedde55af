"""`swaplab trace capture-block`: run a program under memory pressure and write the trace of its disk's requests."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(parent: Parser) -> None:
    """Add the subcommand."""
    command = parent.command("capture-block", capture_block)
    o.add_program(command)
    o.add_output(command, "OUT", "The trace to write: ftrace's text.")
    command.add_argument("--memory", default="256MiB", help="What the program may have resident.")
    command.add_argument("--swap-device", default="file", help="file (on /var/tmp) or ramdisk.")
    command.add_argument("--swap-size", default="512MiB", help="Size of the swap area made for the run.")
    command.add_argument("--buffer", default="32MiB", help="Kernel memory for events, a processor.")
    command.add_argument("--allow-lost", action="store_true", help="Write the trace though events were lost.")
    command.add_argument("--dry-run", action="store_true", help="Print every change to the machine and make none.")
    o.add_json(command, "Print one JSON document, to standard error.")


def capture_block(
    command: list[str],
    output: Path,
    memory: str,
    swap_device: str,
    swap_size: str,
    buffer: str,
    allow_lost: bool,
    dry_run: bool,
    as_json: bool,
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
    sys.exit(code)
