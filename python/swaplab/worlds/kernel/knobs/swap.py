"""Swap areas and kernel settings as context managers. Each change is a `Machine.step`: recorded,
made, undone.

A RAM disk is a loop device over a tmpfs that is mounted `noswap` and preallocated. Over a tmpfs
without `noswap`, the kernel may swap the disk's memory out to the disk itself, which deadlocks the
block layer until reboot. Such a disk is never made here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from swaplab.core.errors import BadInput, Failed
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.undo import (
    DetachLoops,
    RemoveFile,
    RemoveTree,
    RemoveZram,
    SwapOff,
    Unmount,
    WriteBack,
    command,
    loops_over,
    write,
)
from swaplab.worlds.procfs import block_device, disk_of, meminfo, read

#: Higher than the priority of other active swap areas, so that a run measures its own.
PRIORITY = "32767"
ZSWAP = "/sys/module/zswap/parameters"


@contextmanager
def work_directory(machine: Machine, parent: str = "/var/tmp", mode: int = 0o755) -> Iterator[Path]:
    """Make the run's work directory; it is removed on exit with its content."""
    path = Path(parent) / f"swaplab-{os.getpid()}"
    with machine.step(f"mkdir {path}", lambda: path.mkdir(mode=mode), RemoveTree(str(path))):
        yield path


@contextmanager
def setting(machine: Machine, path: str, value: str) -> Iterator[None]:
    """Set a kernel setting (a file under /proc/sys or /sys) to `value` and restore it on exit; no
    change if it has that value.
    """
    before = read(path)
    if "[" in before:  # a list of choices with the current one in brackets
        before = before[before.index("[") + 1 : before.index("]")]
    if before == value:
        yield
        return
    with machine.step(f"echo {value} > {path}", lambda: write(path, value), WriteBack(path, before)):
        yield


@contextmanager
def read_ahead(machine: Machine, directory: Path, kib: int) -> Iterator[None]:
    """Set the readahead of the disk under `directory`, for files opened meanwhile; no change if the
    file system has no disk.
    """
    path = disk_of(block_device(directory)) / "queue/read_ahead_kb"
    with setting(machine, str(path), str(kib)) if path.exists() else nullcontext():
        yield


@contextmanager
def _swap_on(machine: Machine, path: str) -> Iterator[None]:
    def on() -> None:
        command("mkswap", path)
        command("swapon", "--priority", PRIORITY, path)

    with machine.step(f"mkswap {path}; swapon --priority {PRIORITY} {path}", on, SwapOff(path)):
        yield


def _allocate(path: Path, size: int) -> None:
    """Create a file with all its blocks allocated, readable by root only because it will hold
    swapped-out pages.
    """
    with open(os.open(path, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600), "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise Failed(f"fallocate --length {size} {path}: {error.strerror}") from error


@contextmanager
def swap_file(machine: Machine, directory: Path, size: int) -> Iterator[str]:
    """Activate a swap file on the disk under `directory`; yields its path."""
    fits_disk("swap size", size)
    path = directory / "swap"
    with (
        machine.step(f"fallocate --length {size} {path}", lambda: _allocate(path, size), RemoveFile(str(path))),
        _swap_on(machine, str(path)),
    ):
        yield str(path)


@contextmanager
def loop_swap(machine: Machine, directory: Path, size: int) -> Iterator[str]:
    """Activate swap on a loop device over a file on the disk, so that I/O limits can be set on the
    device; yields its path.
    """
    fits_disk("swap size", size)
    file = directory / "disk"
    with (
        machine.step(f"fallocate --length {size} {file}", lambda: _allocate(file, size), RemoveFile(str(file))),
        _loop(machine, file, "--direct-io=on") as device,
        _swap_on(machine, device),
    ):
        yield device


@contextmanager
def _loop(machine: Machine, file: Path, *options: str) -> Iterator[str]:
    attach = ("losetup", "--find", *options, str(file))
    with machine.step(" ".join(attach), lambda: command(*attach), DetachLoops(str(file))):
        yield "/dev/loopN" if machine.dry_run else loops_over(str(file))[0]


@contextmanager
def ram_disk_swap(machine: Machine, directory: Path, size: int) -> Iterator[str]:
    """Activate swap on a RAM disk: a loop device over a tmpfs mounted noswap. The whole size is
    allocated at once.
    """
    fits_memory("swap size", size)
    point, file = directory / "ramdisk", directory / "ramdisk" / "disk"
    options = f"noswap,size={size + 1024 * 1024},mode=700"
    with ExitStack() as stack:
        stack.enter_context(machine.step(f"mkdir {point}", point.mkdir, RemoveTree(str(point))))
        mount = ("mount", "-t", "tmpfs", "-o", options, "swaplab", str(point))
        stack.enter_context(machine.step(" ".join(mount), lambda: command(*mount), Unmount(str(point))))
        stack.enter_context(machine.step(f"fallocate --length {size} {file}", lambda: _allocate(file, size), RemoveFile(str(file))))
        device = stack.enter_context(_loop(machine, file))
        stack.enter_context(_swap_on(machine, device))
        yield device


@contextmanager
def zram_swap(machine: Machine, size: int, algorithm: str = "", limit: int = 0) -> Iterator[str]:
    """Activate swap on a new zram device of `size` uncompressed bytes and at most `limit` bytes of
    memory (0: no limit).
    """
    fits_memory("swap size", limit or size)
    # the number that the kernel will use
    number = next(number for number in range(1000) if not os.path.exists(f"/sys/block/zram{number}"))
    device = f"/sys/block/zram{number}"

    def add() -> None:
        added = read("/sys/class/zram-control/hot_add")
        if added != str(number):
            why = "another program adds devices; run again"
            raise Failed(f"cat /sys/class/zram-control/hot_add: it added zram{added} instead of zram{number}: {why}")
        known = read(f"{device}/comp_algorithm").replace("[", "").replace("]", "").split()
        if algorithm and algorithm not in known:
            raise BadInput(f"zram algorithm: '{algorithm}'; expected one of {', '.join(known)} on this machine")
        if algorithm:
            write(f"{device}/comp_algorithm", algorithm)
        write(f"{device}/disksize", str(size))
        if limit:
            write(f"{device}/mem_limit", str(limit))

    settings = f"echo {algorithm or 'default'} > comp_algorithm; echo {size} > disksize; echo {limit} > mem_limit"
    description = f"cat /sys/class/zram-control/hot_add (zram{number}); {settings}"
    with machine.step(description, add, RemoveZram(number)), _swap_on(machine, f"/dev/zram{number}"):
        yield f"/dev/zram{number}"


@contextmanager
def zswap(machine: Machine, directory: Path, size: int, algorithm: str = "") -> Iterator[str]:
    """Activate a swap file with zswap in front of it; by default with the machine's current
    algorithm.
    """
    with ExitStack() as stack:
        path = stack.enter_context(swap_file(machine, directory, size))
        if algorithm:
            stack.enter_context(setting(machine, f"{ZSWAP}/compressor", algorithm))
        stack.enter_context(setting(machine, f"{ZSWAP}/enabled", "Y"))
        yield path


def fits_disk(place: str, size: int, directory: str = "/var/tmp") -> None:
    """Raise BadInput for a swap area of more than half of the disk's free space."""
    free = shutil.disk_usage(directory).free
    if size > free // 2:
        raise BadInput(f"{place}: {size} bytes on a disk with {free} free; expected at most half of what is free")


def fits_memory(place: str, size: int) -> None:
    """Raise BadInput for an area of more than half of the available memory."""
    available = meminfo()["MemAvailable"]
    if size > available // 2:
        raise BadInput(f"{place}: {size} bytes of memory where {available} are available; expected at most half of that")
