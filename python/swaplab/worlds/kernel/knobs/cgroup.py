"""Memory control groups of a run, with one interface to versions 1 and 2: a group with a phone's
memory, and a child for each app.

Only groups made here are changed, and only processes that swaplab starts are put in them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from swaplab.core.errors import Failed, NotSupported
from swaplab.worlds.kernel.area import Paging
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.undo import RemoveCgroup, write
from swaplab.worlds.procfs import memory_cgroup, mounts, read


@dataclass(frozen=True)
class Group:
    """A control group with a memory controller."""

    path: Path
    version: int

    def limit(self, memory: int, swap: int) -> None:
        """Limit the group to `memory` resident bytes and `swap` swapped-out bytes."""
        if self.version == 2:
            write(self.path / "memory.max", str(memory))
            write(self.path / "memory.swap.max", str(swap))
            return
        write(self.path / "memory.limit_in_bytes", str(memory))
        if (self.path / "memory.memsw.limit_in_bytes").exists():
            write(self.path / "memory.memsw.limit_in_bytes", str(memory + swap))
        elif swap == 0:
            write(self.path / "memory.swappiness", "0")

    def swap_allowed(self, allowed: bool, swappiness: int = 60) -> None:
        """Allow or forbid the kernel to swap out this group's pages, by the group's swappiness (v1)
        or swap limit (v2).
        """
        if self.version == 2:
            write(self.path / "memory.swap.max", "max" if allowed else "0")
        else:
            write(self.path / "memory.swappiness", str(swappiness if allowed else 0))

    def stat(self) -> dict[str, int]:
        """Read memory.stat, including descendants, under version 2's names."""
        rows = dict(line.split() for line in read(self.path / "memory.stat").splitlines())
        if self.version == 2:
            stat = {key: int(value) for key, value in rows.items()}
            stat["swap"] = int(read(self.path / "memory.swap.current") or 0)
            return stat
        stat = {key.removeprefix("total_"): int(value) for key, value in rows.items() if key.startswith("total_")}
        stat["anon"], stat["file"] = stat.get("rss", 0), stat.get("cache", 0)
        # Version 2 counts swap slots, including those of swapped-in clean pages; version 1 counts
        # the latter separately.
        stat["swap"] = stat.get("swap", 0) + stat.get("swapcached", 0)
        return stat

    def usage(self) -> int:
        """Read the bytes charged now."""
        return int(read(self.path / ("memory.current" if self.version == 2 else "memory.usage_in_bytes")) or 0)

    def peak(self) -> int:
        """Read the peak of the bytes charged."""
        return int(read(self.path / ("memory.peak" if self.version == 2 else "memory.max_usage_in_bytes")) or 0)

    def kernel_kills(self) -> int:
        """Count the processes of the group that the kernel's out-of-memory killer has killed."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return sum(int(value) for key, value in (line.split() for line in read(self.path / name).splitlines()) if key == "oom_kill")

    def processes(self) -> list[int]:
        """List the process IDs of the group, without those of child groups."""
        return [int(line) for line in read(self.path / "cgroup.procs").split()]

    def reclaim(self, size: int) -> None:
        """Request the kernel to reclaim `size` bytes, as far as it can (version 1 always tries to
        reclaim all).
        """
        if self.version == 2:
            write(self.path / "memory.reclaim", str(size))
        else:
            write(self.path / "memory.force_empty", "0")

    def enforce_limit(self, memory: int) -> None:
        """Enforce that at most `memory` bytes of DRAM are used. Does nothing here, as the kernel's
        limit enforces it.
        """

    def enter(self) -> None:
        """Move the calling process, a child that will become an app, into the group."""
        write(self.path / "cgroup.procs", str(os.getpid()))


@dataclass(frozen=True)
class PagedGroup(Group):
    """A group whose apps run under swaplab's pager.

    Emulated NVM is charged to the group as shared memory, and the pager's memory is charged too.
    The limit is raised by both. In readings, emulated NVM counts as swap, and neither counts as
    DRAM.
    """

    paging: Paging

    def limit(self, memory: int, swap: int) -> None:
        super().limit(memory + self.paging.nvm_bytes + self.paging.allowance_bytes, 0)

    def stat(self) -> dict[str, int]:
        stat = super().stat()
        shared = stat.get("shmem", 0)
        return stat | {"swap": shared, "file": stat.get("file", 0) - shared}

    def usage(self) -> int:
        return max(0, super().usage() - self.stat()["swap"] - self.paging.own_bytes())

    def enforce_limit(self, memory: int) -> None:
        """Reclaim file pages beyond `memory`: the kernel's limit includes room for NVM, which they
        can fill while NVM is unused.
        """
        over = self.usage() - memory
        if over <= 0:
            return
        with contextlib.suppress(Failed):  # the kernel reclaims what it can; `usage` shows the rest
            if self.version == 2:
                write(self.path / "memory.reclaim", str(over))
            else:
                write(self.path / "memory.limit_in_bytes", str(super().usage() - over))
        self.limit(memory, 0)

    def peak(self) -> int:
        """Return the DRAM charged now, as the peak is unknown: the kernel's peak sums DRAM, NVM and
        the pager's memory.
        """
        return self.usage()


@contextmanager
def group(machine: Machine, name: str, memory: int, swap: int, paging: Paging | None = None, separate: bool = False) -> Iterator[Group]:
    """Make a group at the top of the memory hierarchy, limited to `memory` resident and `swap`
    swapped-out bytes.

    `paging`: the apps run under swaplab's pager. `separate`: its child groups have memory
    controllers.
    """
    mounted = [(version, at) for version in (1, 2) if (at := memory_cgroup(version))]
    if not mounted:
        raise NotSupported("the world kernel needs cgroup-v1-memory or cgroup-v2-memory (neither has a memory controller mounted)")
    version, top = mounted[0]
    path = top / f"swaplab-{os.getpid()}-{name}"
    made = PagedGroup(path, version, paging) if paging else Group(path, version)

    def make() -> None:
        made.path.mkdir()
        if version == 2 and separate:
            write(made.path / "cgroup.subtree_control", "+memory")
        made.limit(memory, swap)

    description = f"mkdir {made.path}; limit {memory} bytes resident, {swap} bytes swapped"
    with machine.step(description, make, RemoveCgroup(str(made.path))):
        yield made


@contextmanager
def members(machine: Machine, parent: Group, separate: bool) -> Iterator[tuple[Group, tuple[Path, ...]]]:
    """Return the parent of the apps' own groups, which track their processes, and the
    `cgroup.procs` files that each app joins as well.

    `separate`: apps have separate memory controllers, which the app policy needs. Reclaim then
    rotates through these groups regardless of recency, unlike on a phone, which has one list of
    pages. Otherwise, version 1 needs groups in a hierarchy without a memory controller; if there is
    none, the apps have memory controllers too.
    """
    top = next((Path(point) for point, kind, options in mounts() if kind == "cgroup" and "freezer" in options), None)
    if separate or parent.version == 2 or top is None:
        yield parent, ()
        return
    made = Group(top / parent.path.name, parent.version)
    with machine.step(f"mkdir {made.path}", made.path.mkdir, RemoveCgroup(str(made.path))):
        yield made, (parent.path / "cgroup.procs",)


@contextmanager
def child(machine: Machine, parent: Group, name: str) -> Iterator[Group]:
    """Make the group of one app below `parent`."""
    made = Group(parent.path / name, parent.version)
    with machine.step(f"mkdir {made.path}", made.path.mkdir, RemoveCgroup(str(made.path))):
        yield made
