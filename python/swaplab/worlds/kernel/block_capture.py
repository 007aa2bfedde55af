"""Capture of block traces: ftrace records completed requests while a program runs in a memory
control group with its own swap area.

Requests are counted when they complete, because a full queue issues a request twice. Requests to
the swap area are recognized by the device's number and the area's sectors, which are in the first
lines of the trace.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from swaplab.core.errors import BadInput, Failed
from swaplab.core.files import path_for_message, try_output, write_whole
from swaplab.core.signals import undisturbed
from swaplab.worlds.kernel.collect import counters, events
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs import cgroup, swap
from swaplab.worlds.kernel.undo import command
from swaplab.worlds.procfs import block_device, disk_of

#: Kinds of swap area. zram is not among them, as it completes its pages without block requests.
DEVICES = ("file", "ramdisk")
NEEDS = ("root", "swap", "swap-tools", "ftrace", "swap-file")
SECTOR = 512
T = TypeVar("T")

COMPLETED = re.compile(r"^(?P<device>\d+,\d+) F?(?P<op>[RWDEFN])\S* \(.*?\) (?P<sector>\d+) \+ (?P<count>\d+)")


@dataclass(frozen=True)
class Extents:
    """The location of a swap area: half-open ranges of sectors of 512 bytes on a device."""

    device: str
    ranges: tuple[tuple[int, int], ...]

    def holds(self, device: str, sector: int) -> bool:
        return device == self.device and any(first <= sector < end for first, end in self.ranges)


def extents(path: str) -> Extents:
    """Return the sectors of a swap file, or of a whole swap device."""
    status = os.stat(path)
    if os.major(status.st_rdev):
        sectors = int(Path(f"/sys/class/block/{Path(path).name}/size").read_text())
        return Extents(f"{os.major(status.st_rdev)},{os.minor(status.st_rdev)}", ((0, sectors),))
    rows = re.findall(r"^\s*\d+:\s*\d+\.\.\s*\d+:\s*(\d+)\.\.\s*(\d+):", command("filefrag", "-b512", "-v", path), re.MULTILINE)
    # Requests refer to the disk and its sectors, but the file's sectors are relative to its
    # partition.
    home = block_device(path)
    start = int((home / "start").read_text()) if (home / "start").exists() else 0
    disk = (disk_of(home) / "dev").read_text().strip().replace(":", ",")
    return Extents(disk, tuple((int(a) + start, int(b) + 1 + start) for a, b in rows))


def traffic(text: str, area: Extents) -> dict[str, int]:
    """Sum the bytes of completed requests by partition (swap or file) and direction."""
    totals = {"swap_read_bytes": 0, "swap_write_bytes": 0, "file_read_bytes": 0, "file_write_bytes": 0, "requests": 0}
    for event in events.parse(text):
        match = COMPLETED.match(event.rest) if event.name == "block_rq_complete" else None
        if match is None or match["op"] not in "RW" or match["count"] == "0":
            continue
        where = "swap" if area.holds(match["device"], int(match["sector"])) else "file"
        totals[f"{where}_{'read' if match['op'] == 'R' else 'write'}_bytes"] += int(match["count"]) * SECTOR
        totals["requests"] += 1
    return totals


@dataclass(frozen=True)
class BlockPlan:
    """The parameters of a capture: command, output, memory limit and swap area in bytes."""

    command: tuple[str, ...]
    output: Path
    memory: int
    device: str
    swap: int
    buffer_kilobytes: int = 32768
    allow_lost: bool = False


@dataclass(frozen=True)
class TrafficCounts:
    """The traffic in a captured trace, in bytes, and the kernel's counters over the same time."""

    lost_events: int
    swap_read_bytes: int
    swap_write_bytes: int
    file_read_bytes: int
    file_write_bytes: int
    requests: int
    pswpin_bytes: int
    pswpout_bytes: int
    #: Whether the trace and the counters agree on swap traffic.
    exact: bool
    others_swapping: bool


def capture(plan: BlockPlan, machine: Machine) -> tuple[TrafficCounts | None, int]:
    """Run the command and write its trace. Returns the traffic (None in a dry run) and the
    command's exit code.
    """
    if plan.device not in DEVICES:
        raise BadInput(f"--area: '{plan.device}'; expected one of: {' '.join(DEVICES)}")
    try_output(plan.output)
    if shutil.which(plan.command[0]) is None:
        raise BadInput(f"{path_for_message(plan.command[0])}: no such program; expected one on the PATH or a path to one")
    with _area(machine, plan) as path, cgroup.group(machine, "capture", plan.memory, plan.swap) as group:
        if machine.dry_run:
            with events.recording(machine, plan.buffer_kilobytes):
                return None, 0
        area = extents(path)
        _flush(path)
        with events.recording(machine, plan.buffer_kilobytes) as recording:
            # A swap request in flight at the start or end would be in the trace but not in the
            # counters, or vice versa.
            before = _between_swaps(group, path, recording.clear)[0]
            with undisturbed():
                program = subprocess.Popen(plan.command, preexec_fn=group.enter)  # noqa: PLW1509
            code = _wait(program)
            after, (text, lost) = _between_swaps(group, path, lambda: (recording.text(), recording.lost()))
    if lost and not plan.allow_lost:
        raise Failed(f"{lost} events were lost, so the trace is not written: take a larger --buffer, or --allow-lost")
    moved = {key: value for key, value in after.since(before).items() if key.startswith("disk_swap")}
    counted = traffic(text, area)
    _write(plan, text, area, lost)
    read, written = moved["disk_swap_in_bytes"], moved["disk_swap_out_bytes"]
    exact = counted["swap_read_bytes"] == read and counted["swap_write_bytes"] == written
    others = before.others_swapping or after.others_swapping
    return TrafficCounts(lost, **counted, pswpin_bytes=read, pswpout_bytes=written, exact=exact, others_swapping=others), code


@contextmanager
def _area(machine: Machine, plan: BlockPlan) -> Iterator[str]:
    with swap.work_directory(machine) as folder:
        make = swap.swap_file if plan.device == "file" else swap.ram_disk_swap
        with make(machine, folder, plan.swap) as path:
            yield path


def _flush(path: str) -> None:
    """Write mkswap's data to the disk now, as it would otherwise be counted as swap-outs later."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _wait(program: subprocess.Popen[bytes]) -> int:
    """Wait for the program and return its exit code. Ctrl-C ends the program, and the capture
    continues with its trace so far.
    """
    try:
        code = program.wait()
    except KeyboardInterrupt:
        program.terminate()
        program.wait()
        return 130
    return code if code >= 0 else 128 - code


def _between_swaps(group: cgroup.Group, path: str, action: Callable[[], T]) -> tuple[counters.Sample, T]:
    """Perform `action` while no swap request is in flight: nothing was swapped for half a second
    before it and during it.

    Returns the counters at that time and the result. If the machine swaps continuously, `action` is
    performed anyway after the last try; the difference then shows in the counters.
    """
    sample = counters.Sample.take(group, path)
    for _ in range(40):
        time.sleep(0.5)
        current = counters.Sample.take(group, path)
        is_idle, sample = _moved(current) == _moved(sample), current
        if is_idle:
            result = action()
            if _moved(counters.Sample.take(group, path)) == _moved(sample):
                return sample, result
    return sample, action()


def _moved(sample: counters.Sample) -> tuple[int, int]:
    return sample.vmstat["pswpin"], sample.vmstat["pswpout"]


def _write(plan: BlockPlan, text: str, area: Extents, lost: int) -> None:
    """Write the trace: lines with the sectors of the swap area, then ftrace's text."""
    head = [f"# swaplab: command {shlex.join(plan.command)}", f"# swaplab: lost {lost}"]
    head += [f"# swaplab: partition swap {area.device} {first} {end}" for first, end in area.ranges]
    write_whole(plan.output, ("\n".join(head) + "\n" + text).encode())
