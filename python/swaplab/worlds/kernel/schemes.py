"""The swap schemes of a real machine: what each needs, and how it is activated. Each has a function
and a line of SCHEMES.

Keys, media, sizes and parameters come from the registry of schemes. The function activates the swap
area and reports the memory it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from swaplab.core.errors import BadInput
from swaplab.core.model import Kind
from swaplab.worlds.kernel.area import Area
from swaplab.worlds.kernel.collect.counters import zram
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs import swap
from swaplab.worlds.kernel.paged import paged
from swaplab.worlds.kernel.slow import sd_card
from swaplab.worlds.procfs import meminfo

#: A context manager that activates the swap area of a configuration, with a work directory, and
#: deactivates it on exit.
On = Callable[[Machine, Configuration, Path], AbstractContextManager[Area]]


@dataclass(frozen=True)
class Scheme:
    """The implementation of a scheme on a real machine."""

    #: Capabilities of `swaplab doctor`.
    needs: tuple[str, ...]
    #: The registry's parameters that have an effect here; others are refused.
    honors: tuple[str, ...]
    on: On
    kind: Kind = "measured"
    #: Whether only activation shows if this machine supports it; it is then activated once before
    #: the first measurement.
    tried_first: bool = False


@contextmanager
def _none(_machine: Machine, _of: Configuration, _directory: Path) -> Iterator[Area]:
    yield Area(None)


@contextmanager
def _flash(machine: Machine, of: Configuration, directory: Path) -> Iterator[Area]:
    with swap.swap_file(machine, directory, of.swap.size) as path:
        yield Area(path, media=of.swap.media())


@contextmanager
def _ramdisk(machine: Machine, of: Configuration, directory: Path) -> Iterator[Area]:
    size = of.swap.size
    with swap.ram_disk_swap(machine, directory, size) as path:
        yield Area(path, size, lambda: size)


@contextmanager
def _zram(machine: Machine, of: Configuration, _directory: Path) -> Iterator[Area]:
    # Without a given limit, the pool is limited to half the size. Whether it is reached depends on
    # the compressibility of the pages.
    limit = of.swap.sizes["limit"] or of.swap.size // 2
    with swap.zram_swap(machine, of.swap.size, of.swap.texts["algorithm"], limit) as path:
        yield Area(path, limit, lambda: zram(path).get("mem_used_max", 0))


@contextmanager
def _zswap(machine: Machine, of: Configuration, directory: Path) -> Iterator[Area]:
    size, algorithm = of.swap.size, of.swap.texts["algorithm"] if "algorithm" in of.swap.given else ""
    with swap.zswap(machine, directory, size, algorithm) as path:
        yield Area(path, size // 2, lambda: meminfo().get("Zswap", 0), media=of.swap.media())


_KERNEL_SWAP = ("swap", "swap-tools")
_PAGER = ("userfaultfd-wp", "tmpfs-noswap")

#: The schemes by their keys in the registry. zswap's pool limit is a whole percentage of the
#: machine's memory, so `pool` has no effect.
SCHEMES: dict[str, Scheme] = {
    "none": Scheme((), (), _none),
    "flash": Scheme((*_KERNEL_SWAP, "swap-file"), ("size",), _flash),
    "sd-card": Scheme((*_KERNEL_SWAP, "swap-file", "loop"), ("size",), sd_card, "emulated", tried_first=True),
    "ramdisk": Scheme((*_KERNEL_SWAP, "loop", "tmpfs-noswap"), ("size",), _ramdisk),
    "zram": Scheme((*_KERNEL_SWAP, "zram"), ("size", "algorithm", "limit"), _zram),
    "zswap": Scheme((*_KERNEL_SWAP, "swap-file", "zswap"), ("size", "algorithm"), _zswap),
    "nvm-direct": Scheme(_PAGER, ("size",), paged, "emulated"),
    "nvm-copy": Scheme(_PAGER, ("size",), paged, "emulated"),
    "nvm-cache": Scheme(_PAGER, ("size", "nvm", "replacement", "admission"), paged, "emulated"),
}


def scheme_of(of: Configuration) -> Scheme:
    """Return the implementation of this configuration's scheme. Raises BadInput for a parameter
    without effect.
    """
    if of.swap.key not in SCHEMES:
        raise BadInput(f"{of.place}: swap: {of.swap.key}; expected one of: {' '.join(SCHEMES)}")
    scheme = SCHEMES[of.swap.key]
    if unknown := next((name for name in of.swap.given if name not in scheme.honors), None):
        expected = f"expected some of {', '.join(scheme.honors)}" if scheme.honors else "expected none"
        raise BadInput(f"{of.place}: swap: {of.swap.text}: {unknown} has no effect on a real kernel; {expected}")
    return scheme
