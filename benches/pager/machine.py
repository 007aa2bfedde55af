"""The environments of a job: native, kernel swap in a limited control group, or the pager. All
return the same figures.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs import cgroup, swap
from swaplab.worlds.procfs import read

MIB = 1 << 20
SWAPLAB = Path(sys.executable).parent / "swaplab"
#: Kernel swap areas that are compared with the pager.
KERNEL = ("zram-lz4", "ramdisk", "ext4-file")
KILLED = 128 + 9


@dataclass
class Ran:
    """A run: its output, its wall and processor seconds (infinite if the limit killed it each
    time), and counters.
    """

    output: str
    seconds: float
    cpu_seconds: float
    counters: dict[str, Any] = field(default_factory=dict)

    @property
    def figures(self) -> list[float]:
        """The figures that `touch` prints."""
        return [float(word) for word in self.output.split()]


# bash measures the time of its child, which excludes the start of wrappers.
TIMED = ["/bin/bash", "-c", 'TIMEFORMAT="%R %U %S"; time "$@" < "$0"']


def _run(prefix: list[str], command: list[str], given: Path | None, enter: Any = None) -> tuple[str, float, float]:
    call = [*prefix, *TIMED, str(given or "/dev/null"), *command]
    run = subprocess.run(call, capture_output=True, text=True, preexec_fn=enter)
    for _ in range(3):
        if run.returncode != KILLED or enter is None:
            break
        # A control group with such a tight limit can run out of memory although swap is free, if
        # reclaim fails too often.
        print("killed by the control group's limit; trying again", file=sys.stderr)
        run = subprocess.run(call, capture_output=True, text=True, preexec_fn=enter)
    if run.returncode == KILLED and enter is not None:
        return run.stdout, math.inf, math.inf
    if run.returncode:
        raise SystemExit(f"{' '.join([*prefix, *command])}: exit code {run.returncode}: {run.stderr[-500:]}")
    # After bash's line, the pager's may follow that says how much was not managed.
    wall, user, system = map(float, re.findall(r"^([\d.]+) ([\d.]+) ([\d.]+)$", run.stderr, re.MULTILINE)[-1])
    return run.stdout, wall, user + system


def native(command: list[str], given: Path | None = None) -> Ran:
    """Run without a limit."""
    return Ran(*_run([], command, given))


def paged(command: list[str], dram: int, scheme: str = "nvm-direct", given: Path | None = None) -> Ran:
    """Run under the pager, on a budget of `dram` bytes."""
    with tempfile.TemporaryDirectory() as place:
        stats = Path(place) / "stats.json"
        prefix = [str(SWAPLAB), "exec", "--dram", f"{dram}B", "--swap", scheme, "--stats", str(stats), "--"]
        found = _run(prefix, command, given)
        rows = json.loads(stats.read_text())["processes"]
        return Ran(*found, max(rows, key=lambda row: row["faults"]))


@contextmanager
def kernel_swap(machine: Machine, kind: str, size: int, directory: Path) -> Iterator[str]:
    """Activate one of the kernel's swap areas."""
    made = {
        "zram-lz4": lambda: swap.zram_swap(machine, size, "lz4"),
        "ramdisk": lambda: swap.ram_disk_swap(machine, directory, size),
        "ext4-file": lambda: swap.swap_file(machine, directory, size),
    }
    with made[kind]() as device:
        yield device


def swapped(machine: Machine, kind: str, command: list[str], dram: int, directory: Path, given: Path | None = None) -> Ran:
    """Run on kernel swap, with at most `dram` resident bytes."""
    size = 512 * MIB
    with kernel_swap(machine, kind, size, directory) as device, cgroup.group(machine, f"bench-{kind}", dram, size) as group:
        found = _run([], command, given, group.enter)
        used = read(f"/sys/block/{Path(device).name}/mm_stat").split() if kind == "zram-lz4" else []
        # mm_stat's fifth column: the peak of the pool's memory.
        return Ran(*found, {"pool_bytes": int(used[4])} if used else {})
