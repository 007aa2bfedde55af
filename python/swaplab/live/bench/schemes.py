"""Swap schemes of the real kernel: one function and one line of SCHEMES each.

A scheme turns its swap area on and says what memory it took."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from swaplab.live.bench.spec import Experiment
from swaplab.live.collect.counters import meminfo, zram
from swaplab.live.journal import Machine
from swaplab.live.knobs import swap


@dataclass(frozen=True)
class Area:
    """A swap area that is on, if there is one, and the memory it takes besides the apps' own."""

    path: str | None
    #: Memory that the area takes at most, known before the run; what `pool_memory = "within"` takes out of the apps' limit.
    reserved_bytes: int
    #: Memory that it really took, read while it is on.
    pool_bytes: Callable[[], int]
    #: Bytes on a medium that isn't memory.
    medium_bytes: int = 0


@dataclass(frozen=True)
class Scheme:
    """One swap scheme."""

    name: str
    needs: tuple[str, ...]
    on: Callable[[Machine, Experiment, Path, int], AbstractContextManager[Area]]
    kind: str = "measured"


@contextmanager
def _none(_machine: Machine, _experiment: Experiment, _directory: Path, _size: int) -> Iterator[Area]:
    yield Area(None, 0, lambda: 0)


@contextmanager
def _flash(machine: Machine, _experiment: Experiment, directory: Path, size: int) -> Iterator[Area]:
    with swap.swap_file(machine, directory, size) as path:
        yield Area(path, 0, lambda: 0, size)


@contextmanager
def _ramdisk(machine: Machine, _experiment: Experiment, directory: Path, size: int) -> Iterator[Area]:
    with swap.ram_disk_swap(machine, directory, size) as path:
        yield Area(path, size, lambda: size)


@contextmanager
def _zram(machine: Machine, experiment: Experiment, _directory: Path, size: int) -> Iterator[Area]:
    # Half the size bounds the pool: the contents' own compressibility decides whether that is ever reached.
    with swap.zram_swap(machine, size, experiment.zram_algorithm, size // 2) as path:
        yield Area(path, size // 2, lambda: zram(path).get("mem_used_max", 0))


@contextmanager
def _zswap(machine: Machine, experiment: Experiment, directory: Path, size: int) -> Iterator[Area]:
    with swap.zswap(machine, directory, size, experiment.zswap_algorithm) as path:
        yield Area(path, size // 2, lambda: meminfo().get("Zswap", 0), size)


#: One line a scheme, by the key that it has everywhere.
SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("none", (), _none),
        Scheme("flash", ("swap", "swap-tools", "swap-file"), _flash),
        Scheme("ramdisk", ("swap", "swap-tools", "loop", "tmpfs-noswap"), _ramdisk),
        Scheme("zram", ("swap", "swap-tools", "zram"), _zram),
        Scheme("zswap", ("swap", "swap-tools", "swap-file", "zswap"), _zswap),
    )
}
