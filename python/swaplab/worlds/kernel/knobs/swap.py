"""Swap areas and kernel settings as reversible context managers. Each change is one `Machine.step`: recorded, made, undone.

A RAM disk is a loop device over a tmpfs that is mounted `noswap` and filled beforehand. Over a plain tmpfs the kernel may page the
disk's own memory out into that disk, which locks the block layer up until reboot; nothing here can make one.
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

#: Above every swap area that may be on already, so that a run measures its own.
PRIORITY = "32767"
ZSWAP = "/sys/module/zswap/parameters"


@contextmanager
def work_directory(machine: Machine, parent: str = "/var/tmp", mode: int = 0o755) -> Iterator[Path]:
    """A directory of this run's own; gone afterwards with everything in it."""
    path = Path(parent) / f"swaplab-{os.getpid()}"
    with machine.step(f"mkdir {path}", lambda: path.mkdir(mode=mode), RemoveTree(str(path))):
        yield path


@contextmanager
def setting(machine: Machine, path: str, value: str) -> Iterator[None]:
    """One kernel setting (a file under /proc/sys or /sys) at `value` for a while; no change where it is so already."""
    before = read(path)
    if "[" in before:  # a choice, the present one in brackets
        before = before[before.index("[") + 1 : before.index("]")]
    if before == value:
        yield
        return
    with machine.step(f"echo {value} > {path}", lambda: write(path, value), WriteBack(path, before)):
        yield


@contextmanager
def read_ahead(machine: Machine, directory: Path, kib: int) -> Iterator[None]:
    """The read-ahead of the disk under `directory` for files opened meanwhile; left alone where the file system has no disk of its own."""
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
    """A file with all its blocks, readable by root alone (others could read what was swapped)."""
    with open(os.open(path, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600), "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise Failed(f"fallocate --length {size} {path}: {error.strerror}") from error


@contextmanager
def swap_file(machine: Machine, directory: Path, size: int) -> Iterator[str]:
    """A swap file on the disk under `directory`."""
    fits_disk("swap size", size)
    path = directory / "swap"
    with (
        machine.step(f"fallocate --length {size} {path}", lambda: _allocate(path, size), RemoveFile(str(path))),
        _swap_on(machine, str(path)),
    ):
        yield str(path)


@contextmanager
def loop_swap(machine: Machine, directory: Path, size: int) -> Iterator[str]:
    """Swap on a loop device over a file on the disk: a device of our own, for which limits can be set."""
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
    """Swap on a RAM disk: loop over a preallocated tmpfs mounted noswap. The whole size is taken from memory at once."""
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
    """Swap on a zram device of our own: `size` uncompressed, at most `limit` bytes of memory (0: no limit)."""
    fits_memory("swap size", limit or size)
    number = next(number for number in range(1000) if not os.path.exists(f"/sys/block/zram{number}"))  # the one the kernel will add
    device = f"/sys/block/zram{number}"

    def add() -> None:
        added = read("/sys/class/zram-control/hot_add")
        if added != str(number):
            raise Failed(f"cat /sys/class/zram-control/hot_add: gave zram{added} where zram{number} was next; someone else adds devices")
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
    """A swap file with the compressed cache zswap before it; without an algorithm, the one that the machine has."""
    with ExitStack() as stack:
        path = stack.enter_context(swap_file(machine, directory, size))
        if algorithm:
            stack.enter_context(setting(machine, f"{ZSWAP}/compressor", algorithm))
        stack.enter_context(setting(machine, f"{ZSWAP}/enabled", "Y"))
        yield path


def fits_disk(place: str, size: int, directory: str = "/var/tmp") -> None:
    """Refuse a swap area that fills more than half of the disk's free space."""
    free = shutil.disk_usage(directory).free
    if size > free // 2:
        raise BadInput(f"{place}: {size} bytes on a disk with {free} free; expected at most half of what is free")


def fits_memory(place: str, size: int) -> None:
    """Refuse an area in memory that takes more than half of what is available."""
    available = meminfo()["MemAvailable"]
    if size > available // 2:
        raise BadInput(f"{place}: {size} bytes of memory where {available} are available; expected at most half of that")
