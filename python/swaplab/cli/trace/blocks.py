"""`swaplab trace capture --method block`: run a program under memory pressure and write the trace
of its block requests.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from swaplab.core.files import path_for_message
from swaplab.worlds.capabilities import require
from swaplab.worlds.kernel.block_capture import NEEDS, BlockPlan, capture
from swaplab.worlds.kernel.journal import Machine


def record_blocks(plan: BlockPlan, dry_run: bool, as_json: bool) -> int:
    """Record completed block requests of the plan's command, which runs in a memory control group
    with its own swap area. Returns the command's exit code.
    """
    require(NEEDS, "trace capture --method block")
    with Machine(dry_run=dry_run, say=print if dry_run else lambda line: None).opened() as machine:
        counted, code = capture(plan, machine)
    if counted is None:
        return 0
    if as_json:
        about = {"kind": "measured", "memory_bytes": plan.memory, "swap_device": plan.device}
        print(json.dumps(about | asdict(counted), indent=2), file=sys.stderr)
    else:
        agree = "equal to the kernel's counters" if counted.exact else "NOT equal to the kernel's counters"
        swapped = f"{counted.swap_read_bytes:,} bytes swapped in, {counted.swap_write_bytes:,} out ({agree})"
        print(f"swaplab: {counted.requests:,} requests in {path_for_message(plan.output)}; {swapped}", file=sys.stderr)
    return code
