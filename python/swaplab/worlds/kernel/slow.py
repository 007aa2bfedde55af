"""A card slower than this disk: a swap file behind a loop device, with I/O limits on the group that the apps are in.

Whether a limit reaches swap is the kernel's affair: under version 1 the memory and the I/O hierarchies are separate, and pages that reclaim
writes out are charged to the root group, which is never limited. So the throttling is measured first, by an app of ours that swaps for
some seconds, and the scheme is refused where the card's rates do not come out: nothing is called emulated that was not seen to be.
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
from swaplab.worlds.procfs import read, table
from swaplab.worlds.spawn import find_program

#: A measured rate may miss the wanted one by this share and the throttling counts.
TOLERANCE = 0.25
MIB = 2**20
#: The app that tries the limits: it writes its pages once and reads them back, in a group of this many bytes.
PROBE_LIMIT = 8 * MIB
PROBE = ("--footprint", "16MiB", "--file-share", "0.01", "--launch-set", "1", "--run", "1")


@contextmanager
def sd_card(machine: Machine, of: Configuration, directory: Path) -> Iterator[Area]:
    """Swap on this disk at the rates of the card that is `machine.devices.sd-card`, if they can be had."""
    read_ns, write_ns = pager_check("nvm-copy", "refault", of.experiment.machine.devices.sd_card)  # the device's times for a page
    wanted = {"reads_per_s": 1e9 / read_ns, "writes_per_s": 1e9 / write_ns}
    with (
        swap.loop_swap(machine, directory, of.swap.size) as device,
        throttle.operations(machine, device, *(round(rate) for rate in wanted.values())) as slow,
    ):
        measured = wanted if machine.dry_run else _rates(machine, slow, directory)
        off = [f"{name} {measured[name]:.0f}, wanted {rate:.0f}" for name, rate in wanted.items() if _misses(measured[name], rate)]
        if off:
            raise NotSupported(
                f"kernel: sd-card needs swap that I/O limits slow down; measured {', '.join(off)} (blkio limits on {device})"
            )
        rates = {f"wanted_{name}": rate for name, rate in wanted.items()} | measured
        yield Area(device, media=of.swap.media(), groups=(slow / "cgroup.procs",), throttle=rates)


def _misses(measured: float, wanted: float) -> bool:
    return abs(measured - wanted) > TOLERANCE * wanted


def _rates(machine: Machine, slow: Path, directory: Path) -> dict[str, float]:
    """Pages that swap writes and reads a second in that group."""
    program = find_program("swaplab-app")
    if program is None:
        raise Failed("kernel: sd-card: no program swaplab-app beside the command swaplab; `make build` builds it")
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
                for name, counter, ask in (("writes_per_s", "pswpout", b""), ("reads_per_s", "pswpin", b"verify\n")):
                    before, began = table(read("/proc/vmstat"))[counter], time.monotonic()
                    app.stdin.write(ask)
                    app.stdin.flush()
                    app.stdout.readline()
                    rates[name] = (table(read("/proc/vmstat"))[counter] - before) / (time.monotonic() - began)
            finally:
                app.kill()
    return rates
