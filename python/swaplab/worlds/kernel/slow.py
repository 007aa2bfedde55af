"""Emulation of an SD card slower than this disk: a swap file behind a loop device, with I/O limits
on the apps' control group.

Whether the limits affect swap depends on the kernel: under version 1 the memory and I/O hierarchies
are separate, and pages that reclaim writes are charged to the root group, which is never limited.
So the rates are measured first, with a `swaplab-app` that swaps for some seconds, and the scheme is
refused if they differ from the card's.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swaplab._core import pager_check
from swaplab.core.errors import Failed, NotSupported
from swaplab.core.signals import undisturbed
from swaplab.worlds.kernel.area import Area
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs import cgroup, swap, throttle
from swaplab.worlds.kernel.undo import write
from swaplab.worlds.memory.environment import POLICY
from swaplab.worlds.procfs import read, table
from swaplab.worlds.spawn import find_program

#: Greatest accepted relative difference between the measured and the wanted rate.
TOLERANCE = 0.25
MIB = 2**20
#: Memory limit in bytes of the app that measures the rates by writing its pages once and reading
#: them back.
PROBE_LIMIT = 8 * MIB
PROBE = ("--footprint", "16MiB", "--file-share", "0.01", "--launch-set", "1", "--run", "1")


@contextmanager
def sd_card(machine: Machine, of: Configuration, directory: Path) -> Iterator[Area]:
    """Swap on this disk at the rates of the card `machine.devices.sd-card`. Raises NotSupported if
    they are not reached.
    """
    # the device's time per page
    read_ns, write_ns = pager_check("nvm-copy", POLICY, of.experiment.machine.devices.sd_card)
    wanted = {"reads_per_s": 1e9 / read_ns, "writes_per_s": 1e9 / write_ns}
    with (
        swap.loop_swap(machine, directory, of.swap.size) as device,
        throttle.operations(machine, device, *(round(rate) for rate in wanted.values())) as slow,
    ):
        measured = wanted if machine.dry_run else _rates(machine, slow, directory)
        off = [f"{name} {measured[name]:.0f}, wanted {rate:.0f}" for name, rate in wanted.items() if _is_off(measured[name], rate)]
        if off:
            raise NotSupported(
                f"kernel: sd-card needs swap that I/O limits slow down; measured {', '.join(off)} (blkio limits on {device})"
            )
        rates = {f"wanted_{name}": rate for name, rate in wanted.items()} | measured
        yield Area(device, media=of.swap.media(), groups=(slow / "cgroup.procs",), throttle=rates)


def _is_off(measured: float, wanted: float) -> bool:
    return abs(measured - wanted) > TOLERANCE * wanted


def _rates(machine: Machine, slow: Path, directory: Path) -> dict[str, float]:
    """Measure the pages per second that swap writes and reads under the limits of the group
    `slow`.
    """
    program = find_program("swaplab-app")
    if program is None:
        raise Failed("kernel: sd-card: no program swaplab-app in the folder of the command swaplab; `make build` builds it")
    with cgroup.group(machine, "probe", PROBE_LIMIT, 64 * MIB) as group:

        def join() -> None:
            group.enter()
            write(slow / "cgroup.procs", str(os.getpid()))

        command = [program, *PROBE, "--data", str(directory / "probe")]
        with undisturbed():
            app = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=join)
        with app:
            try:
                assert app.stdin is not None and app.stdout is not None
                rates = {}
                for name, counter, request in (("writes_per_s", "pswpout", b""), ("reads_per_s", "pswpin", b"verify\n")):
                    before, began = table(read("/proc/vmstat"))[counter], time.monotonic()
                    app.stdin.write(request)
                    app.stdin.flush()
                    app.stdout.readline()
                    rates[name] = (table(read("/proc/vmstat"))[counter] - before) / (time.monotonic() - began)
            finally:
                app.kill()
    return rates
