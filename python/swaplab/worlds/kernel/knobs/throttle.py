"""I/O limits on a run's block device for the run's processes: a blkio group (version 1). The root
group is never limited.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swaplab.core.errors import NotSupported
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.undo import RemoveCgroup, write
from swaplab.worlds.procfs import mounts, read


@contextmanager
def operations(machine: Machine, device: str, reads: int, writes: int) -> Iterator[Path]:
    """Make a blkio group whose processes may start `reads` and `writes` operations per second on
    `device`; yields its path.
    """
    top = next((Path(point) for point, kind, options in mounts() if kind == "cgroup" and "blkio" in options), None)
    if top is None or not (top / "blkio.throttle.read_iops_device").exists():
        raise NotSupported("limits on a swap device need a cgroup v1 blkio hierarchy with throttling (CONFIG_BLK_DEV_THROTTLING)")
    made = top / f"swaplab-{os.getpid()}-slow"
    limits = {"read": reads, "write": writes}

    def make() -> None:
        made.mkdir()
        number = read(f"/sys/block/{Path(device).name}/dev")
        for kind, rate in limits.items():
            write(made / f"blkio.throttle.{kind}_iops_device", f"{number} {rate}")

    with machine.step(f"mkdir {made}; limit {device} to {reads} reads and {writes} writes a second", make, RemoveCgroup(str(made))):
        yield made
