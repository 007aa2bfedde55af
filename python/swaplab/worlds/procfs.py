"""Facts from the kernel's files: /proc, /sys and the mounts. Reading changes nothing."""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path

#: Page size in bytes of the machines that are measured.
PAGE = 4096


def read(path: str | Path) -> str:
    """Read a kernel file's text; empty if the file is absent or unreadable."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def block_device(path: str | Path) -> Path:
    """Return the /sys directory of the block device of a file's file system: a disk or a partition.
    It does not exist if there is none.
    """
    device = os.stat(path).st_dev
    return Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()


def disk_of(device: Path) -> Path:
    """Return the disk of a partition, or the device itself if it is not a partition."""
    return device.parent if (device / "partition").exists() else device


def mounts() -> list[tuple[str, str, list[str]]]:
    """List (mount point, file system, options) of all mounts."""
    rows = [line.split() for line in read("/proc/self/mounts").splitlines()]
    return [(row[1].replace("\\040", " "), row[2], row[3].split(",")) for row in rows]


def memory_cgroup(version: int) -> Path | None:
    """Return the mount point of the memory controller of that cgroup version; None if there is
    none.
    """
    for point, kind, options in mounts():
        if version == 1 and kind == "cgroup" and "memory" in options:
            return Path(point)
        if version == 2 and kind == "cgroup2" and "memory" in read(f"{point}/cgroup.controllers").split():
            return Path(point)
    return None


def table(text: str) -> dict[str, int]:
    """Parse lines of the form `name number`, as in /proc/vmstat."""
    return {row[0]: int(row[1]) for row in (line.split() for line in text.splitlines()) if len(row) >= 2 and row[1].isdigit()}


def meminfo() -> dict[str, int]:
    """Read /proc/meminfo, in bytes."""
    rows = (line.split() for line in read("/proc/meminfo").splitlines())
    return {row[0].rstrip(":"): int(row[1]) * (1024 if len(row) == 3 else 1) for row in rows}


def processor() -> str:
    """Return the processor's name, or its architecture if it has none."""
    rows = dict(line.split(":", 1) for line in read("/proc/cpuinfo").splitlines() if ":" in line)
    names = {key.strip(): value.strip() for key, value in rows.items()}
    return names.get("model name") or names.get("Hardware") or platform.machine()


def syscall(name: str, *arguments: object) -> tuple[int, str]:
    """Invoke a system call for which not every C library has a function. Returns (result, error
    text). For x86-64 and arm64.
    """
    arm = platform.machine() == "aarch64"
    numbers = {"fsopen": 430, "fsconfig": 431, "userfaultfd": 282 if arm else 323, "finit_module": 273 if arm else 313}
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(numbers[name], *arguments)
    return result, os.strerror(ctypes.get_errno())


def tracing_directory() -> Path | None:
    """Return the directory of a readable tracefs; None if there is none."""
    places = [Path(point) for point, kind, _ in mounts() if kind == "tracefs"] + [Path("/sys/kernel/tracing")]
    return next((place for place in places if os.access(place / "trace_pipe", os.R_OK)), None)
