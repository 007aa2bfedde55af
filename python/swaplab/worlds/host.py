"""The description of the measuring machine in the document."""

from __future__ import annotations

import os
import platform

from swaplab.core.model import DiskRate, Host
from swaplab.worlds.procfs import block_device, disk_of, meminfo, processor, read

#: The directory of swap files and apps' files.
WORK = "/var/tmp"


def this_machine(user: str, disk_rates: list[DiskRate] | None = None, facts: dict[str, str] | None = None) -> Host:
    """Describe this machine: kernel, processor, memory, the disk of the work directory, its
    measured rates if any, further facts.
    """
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
    """Return the disk's device and its model if known; None if the file system has no block
    device.
    """
    disk = disk_of(block_device(WORK))
    if not disk.is_dir():
        return None
    model = read(disk / "device/model")
    return f"{disk.name} ({model})" if model else disk.name
