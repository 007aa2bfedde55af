"""The active swap area of a scheme, and the memory that it takes in addition to the apps'
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


def zero_bytes() -> int:
    """Return 0."""
    return 0


@dataclass(frozen=True)
class Paging:
    """Memory that swaplab's pager charges to the apps' control group in addition to their DRAM."""

    #: Shared memory that emulates NVM.
    nvm_bytes: int
    #: Maximum of the pager's tables and buffers. The group's limit is raised by it, so that the
    #: apps can use their full DRAM budgets.
    allowance_bytes: int
    #: Returns the current anonymous memory that the pager does not manage, most of which is its
    #: own.
    own_bytes: Callable[[], int]


@dataclass(frozen=True)
class Area:
    """The active swap area, if any, and the memory that it takes in addition to the apps'
    memory.
    """

    path: str | None
    #: Maximum DRAM of the area, known before the run; `run.kernel.pool = "within"` subtracts it
    #: from the apps' limit.
    reserved_bytes: int = 0
    #: DRAM that its pool or RAM disk takes, read while the area is on.
    pool_bytes: Callable[[], int] = zero_bytes
    #: DRAM of the pager's tables and buffers.
    metadata_bytes: Callable[[], int] = zero_bytes
    #: Bytes reserved on each medium other than DRAM.
    media: dict[str, int] = field(default_factory=dict)
    #: The pager's additions to the apps' group; None if the kernel swaps.
    paging: Paging | None = None
    #: Additional environment variables of every app; empty if the kernel swaps.
    environment: dict[str, str] = field(default_factory=dict)
    #: Counts that replace rows of /proc/vmstat; empty if the kernel swaps.
    counts: Callable[[], dict[str, int]] = dict
    #: `cgroup.procs` files of the groups that every app joins in addition to its own.
    groups: tuple[Path, ...] = ()
    #: Wanted and measured rates of a medium emulated by I/O limits; empty for other media.
    throttle: dict[str, float] = field(default_factory=dict)
