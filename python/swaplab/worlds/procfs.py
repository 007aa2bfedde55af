"""Facts that the kernel tells in files: /proc, /sys and what is mounted. Reading changes nothing."""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path

#: Bytes of a page of the machines that are measured.
PAGE = 4096


def read(path: str | Path) -> str:
    """A kernel file's text, or nothing where it isn't or may not be read."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def block_device(path: str | Path) -> Path:
    """The device of the file system that a file is on, in /sys: a disk or a partition; a directory that isn't there if it has none."""
    device = os.stat(path).st_dev
    return Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()


def disk_of(device: Path) -> Path:
    """The disk that a partition is on, or the device itself."""
    return device.parent if (device / "partition").exists() else device


def mounts() -> list[tuple[str, str, list[str]]]:
    """(mount point, file system, options) of everything mounted."""
    rows = [line.split() for line in read("/proc/self/mounts").splitlines()]
    return [(row[1].replace("\\040", " "), row[2], row[3].split(",")) for row in rows]


def memory_cgroup(version: int) -> Path | None:
    """Where the memory controller of that cgroup version is mounted."""
    for point, kind, options in mounts():
        if version == 1 and kind == "cgroup" and "memory" in options:
            return Path(point)
        if version == 2 and kind == "cgroup2" and "memory" in read(f"{point}/cgroup.controllers").split():
            return Path(point)
    return None


def table(text: str) -> dict[str, int]:
    """`name number` lines, as in /proc/vmstat."""
    return {row[0]: int(row[1]) for row in (line.split() for line in text.splitlines()) if len(row) >= 2 and row[1].isdigit()}


def meminfo() -> dict[str, int]:
    """/proc/meminfo in bytes."""
    rows = (line.split() for line in read("/proc/meminfo").splitlines())
    return {row[0].rstrip(":"): int(row[1]) * (1024 if len(row) == 3 else 1) for row in rows}


def processor() -> str:
    """The processor's name, or its architecture where it has none."""
    rows = dict(line.split(":", 1) for line in read("/proc/cpuinfo").splitlines() if ":" in line)
    names = {key.strip(): value.strip() for key, value in rows.items()}
    return names.get("model name") or names.get("Hardware") or platform.machine()


def syscall(name: str, *arguments: object) -> tuple[int, str]:
    """A system call the C library has no name for on every distribution; numbers of x86-64 and arm64."""
    arm = platform.machine() == "aarch64"
    numbers = {"fsopen": 430, "fsconfig": 431, "userfaultfd": 282 if arm else 323, "finit_module": 273 if arm else 313}
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(numbers[name], *arguments)
    return result, os.strerror(ctypes.get_errno())


def tracing_directory() -> Path | None:
    """Where tracefs is mounted and readable."""
    places = [Path(point) for point, kind, _ in mounts() if kind == "tracefs"] + [Path("/sys/kernel/tracing")]
    return next((place for place in places if os.access(place / "trace_pipe", os.R_OK)), None)
