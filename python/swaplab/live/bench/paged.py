"""Schemes through our pager: each app runs on a DRAM budget of its own, with memory that poses as NVM behind it.

What: apps get the preload library by their environment, as `swaplab run` gives it; the kernel's swap is not used.
Why: NVM read in place (Direct Read), copied, or as a cache before flash, beside the kernel's own schemes in one table.
Deviations: a phone's DRAM is shared by its apps; here each process has an equal budget, `BUDGET_SHARE` of the memory by the number of
apps, that no other can borrow. The rest of the memory is for what is not managed: code, files, stacks. File pages that took more of it are
given back after each visit.
Weakness: DRAM that poses as NVM costs nothing extra, so such rows are `emulated`, an upper bound. NVM is charged to the group as shared
memory; the group's limit is raised by it, and `cgroup.PagedGroup` takes it out of every reading. So it is with the pager's own memory
(tables, buffers), which is stated as `pool_bytes`; the apps' stacks and brk are counted with it. An app larger than its budget and its
share of the NVM together waits for room that never comes: its ready test does not come either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

from swaplab._core import pager_check
from swaplab.config import Bench
from swaplab.live import pager
from swaplab.live.bench.area import Area, Paging
from swaplab.live.bench.spec import memory_bytes
from swaplab.live.journal import Machine
from swaplab.live.knobs import swap
from swaplab.live.undo import RemoveTree, Unmount, command

#: Share of the memory that apps' managed pages may fill (assumed: a quarter for code, files and stacks).
BUDGET_SHARE = 0.75
POLICY = "refault"
USERFAULTFD = "/proc/sys/vm/unprivileged_userfaultfd"
#: Bytes of the pager's own memory an app (assumed, generous: they are measured and stated).
ALLOWANCE = 256 * 2**20
#: Share of the swap size that is NVM where NVM is a cache before flash (assumed; the paper varies it from 32 MB to 1 GB).
CACHE_SHARE = 0.25

On = Callable[[Machine, Bench, Path, int], AbstractContextManager[Area]]


def paged(key: str) -> On:
    """The scheme of that key through the pager."""

    @contextmanager
    def on(machine: Machine, bench: Bench, directory: Path, size: int) -> Iterator[Area]:
        apps = sum(use.count for use in bench.apps)
        memory = memory_bytes(bench)
        budget, share = int(memory * BUDGET_SHARE / apps), size // apps
        nvm = int(share * CACHE_SHARE) if key == "nvm-cache" else share
        scheme = f"{key}:nvm={nvm}B,size={share}B" if key == "nvm-cache" else key
        point, flash = directory / "nvm", directory / "flash"
        mount = ("mount", "-t", "tmpfs", "-o", f"noswap,size={memory + size},mode=1777", "swaplab", str(point))
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
                total = pager.summary(pager.processes(point / "counters"))
                names = {"pswpin": "copied_pages", "pswpout": "swap_outs", "direct_reads": "direct_reads"}
                return {name: int(str(total[counter])) for name, counter in names.items()}

            def own() -> int:
                alive = [one for one in pager.processes(point / "counters") if os.path.exists(f"/proc/{one.pid}")]
                return sum(one.counters["unmanaged_bytes"] for one in alive)

            yield Area(None, 0, own, size, Paging(size, ALLOWANCE * apps, own), environment, counts)

    return on


def _shared(path: Path) -> None:
    path.mkdir()
    path.chmod(0o1777)
