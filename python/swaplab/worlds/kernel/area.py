"""What a scheme has turned on: where pages go, and what memory that takes besides the apps' own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


def nothing() -> int:
    """No bytes."""
    return 0


@dataclass(frozen=True)
class Paging:
    """What our pager charges to the apps' group besides their DRAM."""

    #: Memory that poses as NVM, as shared memory.
    nvm_bytes: int
    #: The pager's tables and buffers at most: allowed on top of the limit, so that DRAM is what the apps' budgets say.
    allowance_bytes: int
    #: Anonymous memory that the pager does not manage, its own for the most part, as of now.
    own_bytes: Callable[[], int]


@dataclass(frozen=True)
class Area:
    """A swap area that is on, if there is one, and the memory it takes besides the apps' own."""

    path: str | None
    #: DRAM that the area takes at most, known before the run; what `run.kernel.pool = "within"` takes out of the apps' limit.
    reserved_bytes: int = 0
    #: DRAM that its pool or RAM disk really took, read while it is on.
    pool_bytes: Callable[[], int] = nothing
    #: DRAM of our pager's tables and buffers.
    metadata_bytes: Callable[[], int] = nothing
    #: Bytes set aside on each medium that isn't DRAM.
    media: dict[str, int] = field(default_factory=dict)
    #: What our pager adds to the apps' group, where it swaps.
    paging: Paging | None = None
    #: What every app's environment has besides; nothing where the kernel swaps.
    environment: dict[str, str] = field(default_factory=dict)
    #: Counts in place of /proc/vmstat's rows; nothing where the kernel swaps.
    counts: Callable[[], dict[str, int]] = dict
    #: Where every app joins besides its own group: files that take a process's number.
    groups: tuple[Path, ...] = ()
    #: Rates that were asked for and reached before a slower medium counted as emulated; nothing for a medium that is what it is.
    throttle: dict[str, float] = field(default_factory=dict)
