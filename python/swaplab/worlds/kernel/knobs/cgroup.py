"""Memory control groups of our own, version 1 or 2 behind one face: a group the size of a phone, and a child for each app.

Only groups made here are written to, and only processes that we start are put in them.
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
    """One control group with a memory controller."""

    path: Path
    version: int

    def limit(self, memory: int, swap: int) -> None:
        """At most `memory` bytes resident and `swap` bytes swapped out."""
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
        """Let the kernel swap this group's pages out, or not: swappiness of the group (v1), its swap limit (v2)."""
        if self.version == 2:
            write(self.path / "memory.swap.max", "max" if allowed else "0")
        else:
            write(self.path / "memory.swappiness", str(swappiness if allowed else 0))

    def stat(self) -> dict[str, int]:
        """memory.stat, descendants included, under version 2's names."""
        rows = dict(line.split() for line in read(self.path / "memory.stat").splitlines())
        if self.version == 2:
            stat = {key: int(value) for key, value in rows.items()}
            stat["swap"] = int(read(self.path / "memory.swap.current") or 0)
            return stat
        stat = {key.removeprefix("total_"): int(value) for key, value in rows.items() if key.startswith("total_")}
        stat["anon"], stat["file"] = stat.get("rss", 0), stat.get("cache", 0)
        # Version 2 counts slots, those of pages that came back and were not written included; version 1 apart.
        stat["swap"] = stat.get("swap", 0) + stat.get("swapcached", 0)
        return stat

    def usage(self) -> int:
        """Bytes charged now."""
        return int(read(self.path / ("memory.current" if self.version == 2 else "memory.usage_in_bytes")) or 0)

    def peak(self) -> int:
        """The most bytes ever charged."""
        return int(read(self.path / ("memory.peak" if self.version == 2 else "memory.max_usage_in_bytes")) or 0)

    def kernel_kills(self) -> int:
        """Processes that the kernel's own out-of-memory killer took here."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return sum(int(value) for key, value in (line.split() for line in read(self.path / name).splitlines()) if key == "oom_kill")

    def processes(self) -> list[int]:
        """Processes in it, those of child groups not included."""
        return [int(line) for line in read(self.path / "cgroup.procs").split()]

    def reclaim(self, size: int) -> None:
        """Ask the kernel to page `size` bytes out, as far as it can (version 1 always tries everything)."""
        if self.version == 2:
            write(self.path / "memory.reclaim", str(size))
        else:
            write(self.path / "memory.force_empty", "0")

    def settle(self, memory: int) -> None:
        """See that no more than `memory` bytes of DRAM are used; the kernel's limit sees to it already."""

    def enter(self) -> None:
        """Put the calling process in (a child that is about to become an app)."""
        write(self.path / "cgroup.procs", str(os.getpid()))


@dataclass(frozen=True)
class PagedGroup(Group):
    """A group whose apps are under our pager. Memory that poses as NVM is charged to the group as shared memory, and so is the pager's own
    memory: both are allowed on top of the limit. In every reading the first counts as swap and neither as DRAM."""

    paging: Paging

    def limit(self, memory: int, swap: int) -> None:
        super().limit(memory + self.paging.nvm_bytes + self.paging.allowance_bytes, 0)

    def stat(self) -> dict[str, int]:
        stat = super().stat()
        shared = stat.get("shmem", 0)
        return stat | {"swap": shared, "file": stat.get("file", 0) - shared}

    def usage(self) -> int:
        return max(0, super().usage() - self.stat()["swap"] - self.paging.own_bytes())

    def settle(self, memory: int) -> None:
        """The kernel's limit has room for NVM that is not used yet, which file pages take: give them back."""
        over = self.usage() - memory
        if over <= 0:
            return
        with contextlib.suppress(Failed):  # it gives back what it can; `usage` tells the rest
            if self.version == 2:
                write(self.path / "memory.reclaim", str(over))
            else:
                write(self.path / "memory.limit_in_bytes", str(super().usage() - over))
        self.limit(memory, 0)

    def peak(self) -> int:
        """Not known: the kernel's peak has DRAM, NVM and the pager's memory in one number, so this is the DRAM charged now."""
        return self.usage()


@contextmanager
def group(machine: Machine, name: str, memory: int, swap: int, paging: Paging | None = None, apart: bool = False) -> Iterator[Group]:
    """A group at the top of the memory hierarchy, limited to `memory` resident and `swap` swapped bytes; with `paging`, of apps
    under our pager; `apart`, its children have memory of their own."""
    mounted = [(version, at) for version in (1, 2) if (at := memory_cgroup(version))]
    if not mounted:
        raise NotSupported("bench needs cgroup-v1-memory or cgroup-v2-memory (neither has a memory controller mounted)")
    version, top = mounted[0]
    path = top / f"swaplab-{os.getpid()}-{name}"
    made = PagedGroup(path, version, paging) if paging else Group(path, version)

    def make() -> None:
        made.path.mkdir()
        if version == 2 and apart:
            write(made.path / "cgroup.subtree_control", "+memory")
        made.limit(memory, swap)

    description = f"mkdir {made.path}; limit {memory} bytes resident, {swap} bytes swapped"
    with machine.step(description, make, RemoveCgroup(str(made.path))):
        yield made


@contextmanager
def members(machine: Machine, parent: Group, apart: bool) -> Iterator[tuple[Group, tuple[Path, ...]]]:
    """Where each app of `parent` gets a group that tells its processes, and the groups that it joins besides. `apart`: with memory of its
    own, which can be steered; reclaim takes from such groups in turn, however lately each was used, which a phone with one list of
    pages does not. Version 1 has to keep the others in a hierarchy without a memory controller; lacking that, they are apart, too."""
    top = next((Path(point) for point, kind, options in mounts() if kind == "cgroup" and "freezer" in options), None)
    if apart or parent.version == 2 or top is None:
        yield parent, ()
        return
    made = Group(top / parent.path.name, parent.version)
    with machine.step(f"mkdir {made.path}", made.path.mkdir, RemoveCgroup(str(made.path))):
        yield made, (parent.path / "cgroup.procs",)


@contextmanager
def child(machine: Machine, parent: Group, name: str) -> Iterator[Group]:
    """A group of one app below `parent`."""
    made = Group(parent.path / name, parent.version)
    with machine.step(f"mkdir {made.path}", made.path.mkdir, RemoveCgroup(str(made.path))):
        yield made
