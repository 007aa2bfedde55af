"""Schemes through our pager: each app runs on a DRAM budget of its own, with memory that poses as NVM behind it.

What: apps get the preload library by their environment, as `swaplab exec` gives it; the kernel's swap is not used.
Why: NVM read in place (Direct Read), copied, or as a cache before flash, beside the kernel's own schemes in one table.
Deviations: a phone's DRAM is shared by its apps; here each process has an equal budget, `BUDGET_SHARE` of the memory by the number of
apps, that no other can borrow. The rest of the memory is for what is not managed: code, files, stacks. File pages that took more of it are
given back after each visit.
Weakness: DRAM that poses as NVM costs nothing extra, so such rows are `emulated`, an upper bound. NVM is charged to the group as shared
memory; the group's limit is raised by it, and `cgroup.PagedGroup` takes it out of every reading. So it is with the pager's own memory
(tables, buffers), which is stated as metadata; the apps' stacks and brk are counted with it. An app larger than its budget and its
share of the NVM together waits for room that never comes: its ready test does not come either.
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

#: Share of the memory that apps' managed pages may fill (assumed: a quarter for code, files and stacks).
BUDGET_SHARE = 0.75
POLICY = "refault"
USERFAULTFD = "/proc/sys/vm/unprivileged_userfaultfd"
#: Bytes of the pager's own memory an app (assumed, generous: they are measured and stated).
ALLOWANCE = 256 * 2**20


@contextmanager
def paged(machine: Machine, of: Configuration, directory: Path) -> Iterator[Area]:
    """The configuration's scheme through the pager."""
    apps, size = len(of.apps), of.swap.size
    budget, share = int(of.memory * BUDGET_SHARE / apps), size // apps
    scheme = _scheme_of_one(of, apps)
    point, flash = directory / "nvm", directory / "flash"
    mount = ("mount", "-t", "tmpfs", "-o", f"noswap,size={of.memory + size},mode=1777", "swaplab", str(point))
    with ExitStack() as stack:
        stack.enter_context(machine.step(f"mkdir {point}", point.mkdir, RemoveTree(str(point))))
        stack.enter_context(machine.step(" ".join(mount), lambda: command(*mount), Unmount(str(point))))
        for made in (point / "counters", flash):
            stack.enter_context(machine.step(f"mkdir -m 1777 {made}", partial(_shared, made), RemoveTree(str(made))))
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

        def own() -> int:
            alive = [process for process in pager.processes(point / "counters") if os.path.exists(f"/proc/{process.pid}")]
            return sum(process.counters["unmanaged_bytes"] for process in alive)

        paging = Paging(size, ALLOWANCE * apps, own)
        yield Area(None, metadata_bytes=own, media=of.swap.media(), paging=paging, environment=environment, counts=counts)


def _scheme_of_one(of: Configuration, apps: int) -> str:
    """The scheme of one app: its share of each area, and the parameters that were given."""
    if of.swap.key != "nvm-cache":
        return of.swap.key
    sizes = {area.parameter: (of.swap.sizes[area.parameter] or of.swap.size) // apps for area in of.swap.areas}
    values = [f"{name}={size}B" for name, size in sizes.items()]
    values += [f'{name}="{of.swap.texts[name]}"' for name in of.swap.given if name in of.swap.texts]
    return f"{of.swap.key}:{','.join(values)}"


def _shared(path: Path) -> None:
    path.mkdir()
    path.chmod(0o1777)
