"""The machine that measures, as the document tells it."""

from __future__ import annotations

import os
import platform

from swaplab.core.model import DiskRate, Host
from swaplab.worlds.procfs import block_device, disk_of, meminfo, processor, read

#: Where swap files and apps' files lie.
WORK = "/var/tmp"


def this_machine(user: str, disk_rates: list[DiskRate] | None = None, facts: dict[str, str] | None = None) -> Host:
    """This machine: kernel, processor, memory, the disk under the work directory, its rates where they were measured, further facts."""
    return Host(
        kernel=f"{platform.system()} {platform.release()}",
        processor=processor(),
        processors=os.cpu_count() or 1,
        memory_bytes=meminfo().get("MemTotal", 0),
        disk=_disk(),
        disk_rates=disk_rates or [],
        target="local",
        user=user,
        facts=facts or {},
    )


def _disk() -> str | None:
    """The disk's device and, where it tells one, its model."""
    disk = disk_of(block_device(WORK))
    if not disk.is_dir():
        return None
    model = read(disk / "device/model")
    return f"{disk.name} ({model})" if model else disk.name
