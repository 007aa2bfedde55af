"""The swap schemes of a guest: what each needs of kernel and memory. Each has a function and a line
of SCHEMES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from swaplab.core.errors import BadInput
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.vm.plan import Setting, Swap

MIB = 1 << 20
#: Modules of the kernel's crypto interface that zram before 6.12 and zswap use. Built-in ones are
#: not loaded.
_ALGORITHMS = {"lz4": ["lz4"], "lzo-rle": ["lzo_rle"], "lzo": ["lzo"], "zstd": ["zstd"]}


@dataclass(frozen=True)
class Area:
    """The swap area of a design, before its address is known."""

    #: None: no swap.
    swap: Swap | None = None
    #: Bytes on the guest's flash or in its NVM.
    flash_bytes: int = 0
    nvm_bytes: int = 0
    #: Bytes of the guest's memory that the area takes permanently. The guest's memory is increased
    #: by it beyond `machine.dram`.
    own_bytes: int = 0
    modules: list[str] = field(default_factory=list)
    #: Options of modules by name.
    options: dict[str, str] = field(default_factory=dict)
    settings: list[Setting] = field(default_factory=list)
    #: Whether a kernel with Direct Read maps the area's pages in place.
    direct: bool = False


def _algorithm(of: Configuration) -> str:
    algorithm = of.swap.texts["algorithm"]
    if algorithm not in _ALGORITHMS:
        raise BadInput(f"{of.place}: swap: algorithm = '{algorithm}'; expected one of {', '.join(_ALGORITHMS)}")
    return algorithm


def _size(of: Configuration) -> int:
    """Return the bytes of the swap area. Raises BadInput unless they are whole MiB."""
    if of.swap.size % MIB or of.swap.size < MIB:
        raise BadInput(f"{of.place}: swap: {of.swap.text}: {of.swap.size} bytes; expected whole MiB, such as {of.swap.key}:size=64MiB")
    return of.swap.size


def _none(_of: Configuration) -> Area:
    return Area()


def _zram(of: Configuration) -> Area:
    algorithm, limit = _algorithm(of), of.swap.sizes["limit"]
    files = {"comp_algorithm": algorithm, "disksize": str(_size(of)), **({"mem_limit": str(limit)} if limit else {})}
    settings = [Setting(f"/sys/block/zram0/{name}", value) for name, value in files.items()]
    return Area(Swap("/dev/zram0", settings), modules=[*_ALGORITHMS[algorithm], "zram"])


def _flash(of: Configuration) -> Area:
    return Area(Swap("/dev/flash2", []), flash_bytes=_size(of))


def _zswap(of: Configuration) -> Area:
    algorithm = _algorithm(of)
    folder = "/sys/module/zswap/parameters"
    settings = [
        Setting(f"{folder}/compressor", algorithm),
        Setting(f"{folder}/zpool", "zsmalloc", required=False),
        Setting(f"{folder}/max_pool_percent", "20"),
        Setting(f"{folder}/enabled", "Y"),
    ]
    modules = [*_ALGORITHMS[algorithm], "zsmalloc"]
    return Area(Swap("/dev/flash2", []), flash_bytes=_size(of), modules=modules, settings=settings)


def _ramdisk(of: Configuration) -> Area:
    size = _size(of)
    return Area(Swap("/dev/ram0", [], fill=True), own_bytes=size, modules=["brd"], options={"brd": f"rd_nr=1 rd_size={size >> 10}"})


def _nvm_copy(of: Configuration) -> Area:
    return Area(Swap("/dev/nvm", []), nvm_bytes=_size(of))


def _nvm_direct(of: Configuration) -> Area:
    return Area(Swap("/dev/nvm", []), nvm_bytes=_size(of), direct=True)


@dataclass(frozen=True)
class Scheme:
    """The implementation of a scheme in a guest."""

    area: Callable[[Configuration], Area]
    #: The registry's parameters that have an effect here; others are refused.
    honors: tuple[str, ...]


#: The schemes by their keys in the registry.
SCHEMES: dict[str, Scheme] = {
    "none": Scheme(_none, ()),
    "zram": Scheme(_zram, ("size", "algorithm", "limit")),
    "zswap": Scheme(_zswap, ("size", "algorithm")),
    "flash": Scheme(_flash, ("size",)),
    "ramdisk": Scheme(_ramdisk, ("size",)),
    "nvm-copy": Scheme(_nvm_copy, ("size",)),
    "nvm-direct": Scheme(_nvm_direct, ("size",)),
}


def area_of(of: Configuration) -> Area:
    """Return the design's swap area. Raises BadInput for a parameter without effect."""
    if of.swap.key not in SCHEMES:
        raise BadInput(f"{of.place}: swap: {of.swap.key}; expected one of: {' '.join(SCHEMES)}")
    scheme = SCHEMES[of.swap.key]
    if unknown := next((name for name in of.swap.given if name not in scheme.honors), None):
        expected = f"expected some of {', '.join(scheme.honors)}" if scheme.honors else "expected none"
        raise BadInput(f"{of.place}: swap: {of.swap.text}: {unknown} has no effect in a guest; {expected}")
    return scheme.area(of)
