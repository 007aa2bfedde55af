"""Loads of apps from NVM mapped in place, counted by a QEMU plugin (`kernel/tools/mapped_reads.c`).

The plugin is GPL-2.0-only and not part of the wheel; it is built from a checkout of swaplab's
source. It notes its counts by the number of bytes on the console, so that they can be attributed to
the visits whose records are there.
"""

from __future__ import annotations

import subprocess
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from swaplab._core import device_service, size_bytes
from swaplab.core.errors import NotSupported
from swaplab.core.model import Devices, VmRun
from swaplab.worlds.vm import cache, driver, records, tools

#: The host's compiler, which builds the plugin.
COMPILER = tools.Program("gcc", "gcc")
LINE = 64
PAGE = 4096


@dataclass(frozen=True)
class Counts:
    """Loads from mapped NVM, and those that missed the cache."""

    loads: int = 0
    misses: int = 0

    def since(self, before: Counts) -> Counts:
        """Return the difference to earlier counts."""
        return Counts(self.loads - before.loads, self.misses - before.misses)


@dataclass(frozen=True)
class Reads:
    """The counts of a guest."""

    #: From the end of each visit's predecessor to the visit's record, in the order of visits.
    visits: list[Counts]
    #: Over all visits after the warm-up, with what lies between them.
    counted: Counts


def plugin() -> Path:
    """Build the plugin, or take it from the cache. Returns its path."""
    source = driver.required_parts() / "tools" / "mapped_reads.c"
    compilers = tools.find(COMPILER)
    key = cache.sha256_of(compilers.version(COMPILER), source.read_bytes())
    target = cache.folder() / "plugins" / key[:32]
    if not (target / "mapped_reads.so").is_file():
        with cache.new_folder(target) as made:
            command: list[str | Path] = [
                compilers.paths[COMPILER.command],
                "-O2",
                "-shared",
                "-fPIC",
                "-o",
                made / "mapped_reads.so",
                source,
            ]
            done = subprocess.run(command, env=compilers.environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NotSupported(f"run.vm.count_reads needs QEMU's plugin {source.name}: {' '.join(done.stderr.split())[-400:]}")
    return target / "mapped_reads.so"


def cache_bytes(vm: VmRun) -> int:
    """Return the size of the cache that loads go through; 0 if they are not counted."""
    return size_bytes("run.vm.count_reads", vm.count_reads) if vm.count_reads else 0


def line_ns(devices: Devices) -> float:
    """Compute the price of a line as simulated worlds do: the latency of a read, and the line's
    share of a page's transfer.
    """
    _, read, transfer, _, _ = device_service(devices.nvm)
    return read + transfer * LINE / PAGE


def option(vm: VmRun, reserved: driver.ReservedMemory, marks: Path) -> str:
    """Format QEMU's option `-plugin`. Its marks are written to a file."""
    words = {"start": driver.MEMORY_AT + reserved.guest, "bytes": reserved.nvm, "cache_kib": cache_bytes(vm) >> 10, "marks": marks}
    return ",".join([str(plugin()), *(f"{key}={value}" for key, value in words.items())])


def read(console: bytes, marks: str) -> Reads:
    """Attribute the counts to the visits of the console's records."""
    rows = [tuple(map(int, line.split())) for line in marks.splitlines()]
    ends = [row[0] for row in rows]

    def until(end: int) -> Counts:
        at = bisect_right(ends, end)
        return Counts(rows[at - 1][1], rows[at - 1][2]) if at else Counts()

    visits: list[Counts] = []
    last = counted_from = counted = Counts()
    warm_up, at = True, 0
    for line in console.split(b"\n"):
        at += len(line) + 1
        match records.parse(line.replace(b"\r", b"")):
            case records.Visit() as visit:
                if warm_up and not visit.warm_up:
                    warm_up, counted_from = False, last
                visits.append(until(at).since(last))
            case records.Started() | records.Progress():
                last = until(at)
            case records.Counts():
                counted = until(at).since(counted_from)
    return Reads(visits, counted)
