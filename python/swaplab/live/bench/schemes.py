"""Swap schemes of the real kernel: one function and one line of SCHEMES each.

A scheme turns its swap area on and says what memory it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from swaplab.config import Bench
from swaplab.live.bench.area import Area
from swaplab.live.bench.paged import On, paged
from swaplab.live.bench.slow import sd_card
from swaplab.live.collect.counters import meminfo, zram
from swaplab.live.journal import Machine
from swaplab.live.knobs import swap


@dataclass(frozen=True)
class Scheme:
    """One swap scheme."""

    name: str
    needs: tuple[str, ...]
    on: On
    kind: str = "measured"
    #: Whether the kernel swaps, so that its swappiness steers it.
    kernel: bool = True


@contextmanager
def _none(_machine: Machine, _bench: Bench, _directory: Path, _size: int) -> Iterator[Area]:
    yield Area(None, 0, lambda: 0)


@contextmanager
def _flash(machine: Machine, _bench: Bench, directory: Path, size: int) -> Iterator[Area]:
    with swap.swap_file(machine, directory, size) as path:
        yield Area(path, 0, lambda: 0, size)


@contextmanager
def _ramdisk(machine: Machine, _bench: Bench, directory: Path, size: int) -> Iterator[Area]:
    with swap.ram_disk_swap(machine, directory, size) as path:
        yield Area(path, size, lambda: size)


@contextmanager
def _zram(machine: Machine, bench: Bench, _directory: Path, size: int) -> Iterator[Area]:
    # Half the size bounds the pool: the contents' own compressibility decides whether that is ever reached.
    with swap.zram_swap(machine, size, bench.zram_algorithm, size // 2) as path:
        yield Area(path, size // 2, lambda: zram(path).get("mem_used_max", 0))


@contextmanager
def _zswap(machine: Machine, bench: Bench, directory: Path, size: int) -> Iterator[Area]:
    with swap.zswap(machine, directory, size, bench.zswap_algorithm) as path:
        yield Area(path, size // 2, lambda: meminfo().get("Zswap", 0), size)


PAGER_NEEDS = ("userfaultfd-wp", "tmpfs-noswap")

#: One line a scheme, by the key that it has everywhere.
SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("none", (), _none, kernel=False),
        Scheme("flash", ("swap", "swap-tools", "swap-file"), _flash),
        Scheme("sd-card", ("swap", "swap-tools", "swap-file", "loop"), sd_card, "emulated"),
        Scheme("ramdisk", ("swap", "swap-tools", "loop", "tmpfs-noswap"), _ramdisk),
        Scheme("zram", ("swap", "swap-tools", "zram"), _zram),
        Scheme("zswap", ("swap", "swap-tools", "swap-file", "zswap"), _zswap),
        *(
            Scheme(key, ("userfaultfd-wp", "tmpfs-noswap"), paged(key), "emulated", False)
            for key in ("nvm-direct", "nvm-copy", "nvm-cache")
        ),
    )
}
