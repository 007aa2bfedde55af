"""Schemes that swaplab's pager performs: each app has a separate DRAM budget, with emulated NVM
behind it.

What: apps load the preload library by their environment, as with `swaplab exec`; the kernel's swap
is not used.
Why: to compare NVM that is read in place (Direct Read), copied, or a cache before flash, with the
kernel's schemes in one table.
Deviations: the apps of a phone share its DRAM. Here each process has an equal budget,
`BUDGET_SHARE` of the memory divided by the number of apps, that no other process can use. The rest
of the memory is for unmanaged pages: code, files, stacks. File pages beyond it are reclaimed after
each visit.
Weakness: DRAM that emulates NVM has DRAM's latency, so such rows are `emulated`, an upper bound.
Emulated NVM is charged to the group as shared memory; the group's limit is raised by its size, and
`cgroup.PagedGroup` subtracts it from every reading. The same is done with the pager's memory
(tables, buffers), which is reported as metadata and includes the apps' stacks and brk. An app
larger than its budget and its share of the NVM together waits for space forever, so its ready test
fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from swaplab._core import pager_check
from swaplab.worlds.kernel.area import Area, Paging
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs import swap
from swaplab.worlds.kernel.undo import RemoveTree, Unmount, command
from swaplab.worlds.memory import pager
from swaplab.worlds.memory.environment import POLICY

#: Share of the memory for the apps' managed pages (assumed; a quarter is left for code, files and
#: stacks).
BUDGET_SHARE = 0.75
USERFAULTFD = "/proc/sys/vm/unprivileged_userfaultfd"
#: Bytes of the pager's memory per app (assumed, generous; the actual bytes are measured and
#: reported).
ALLOWANCE = 256 * 2**20


@contextmanager
def paged(machine: Machine, of: Configuration, directory: Path) -> Iterator[Area]:
    """Set up the configuration's scheme in the pager."""
    apps, size = len(of.apps), of.swap.size
    budget, share = int(of.memory * BUDGET_SHARE / apps), size // apps
    scheme = _scheme_per_app(of, apps)
    point, flash = directory / "nvm", directory / "flash"
    mount = ("mount", "-t", "tmpfs", "-o", f"noswap,size={of.memory + size},mode=1777", "swaplab", str(point))
    with ExitStack() as stack:
        stack.enter_context(machine.step(f"mkdir {point}", point.mkdir, RemoveTree(str(point))))
        stack.enter_context(machine.step(" ".join(mount), lambda: command(*mount), Unmount(str(point))))
        for made in (point / "counters", flash):
            stack.enter_context(machine.step(f"mkdir -m 1777 {made}", partial(_make_shared_directory, made), RemoveTree(str(made))))
        if os.path.exists(USERFAULTFD):
            stack.enter_context(swap.setting(machine, USERFAULTFD, "1"))
        if not machine.dry_run:
            pager_check(scheme, POLICY, "", str(point), str(flash))
        settings = {"DRAM": budget, "SCHEME": scheme, "POLICY": POLICY, "NVM": point, "FLASH": flash, "STORE_BYTES": share}
        settings |= {"STATS": point / "counters"}
        environment = {f"SWAPLAB_{name}": str(value) for name, value in settings.items()} | {"LD_PRELOAD": str(pager.library())}

        def counts() -> dict[str, int]:
            total = pager.totals(pager.processes(point / "counters"))
            names = {"pswpin": "copied_pages", "pswpout": "swap_outs", "direct_reads": "direct_reads"}
            return {name: total[counter] for name, counter in names.items()}

        def unmanaged_bytes() -> int:
            alive = [process for process in pager.processes(point / "counters") if os.path.exists(f"/proc/{process.pid}")]
            return sum(process.counters["unmanaged_bytes"] for process in alive)

        paging = Paging(size, ALLOWANCE * apps, unmanaged_bytes)
        yield Area(None, metadata_bytes=unmanaged_bytes, media=of.swap.media(), paging=paging, environment=environment, counts=counts)


def _scheme_per_app(of: Configuration, apps: int) -> str:
    """Format the scheme of one app: its share of each area, and the given parameters."""
    if of.swap.key != "nvm-cache":
        return of.swap.key
    sizes = {area.parameter: (of.swap.sizes[area.parameter] or of.swap.size) // apps for area in of.swap.areas}
    values = [f"{name}={size}B" for name, size in sizes.items()]
    values += [f'{name}="{of.swap.texts[name]}"' for name in of.swap.given if name in of.swap.texts]
    return f"{of.swap.key}:{','.join(values)}"


def _make_shared_directory(path: Path) -> None:
    path.mkdir()
    path.chmod(0o1777)
