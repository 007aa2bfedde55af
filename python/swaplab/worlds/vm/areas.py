"""Swap schemes of a guest: what each needs of kernel and memory, one function and one line of AREAS each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from swaplab import BadInput
from swaplab.worlds.vm.plan import Setting, Swap, spec_size
from swaplab.worlds.vm.request import Design

#: Modules of the kernel's crypto interface that zram before 6.12 and zswap compress with. A built-in one is no module.
_ALGORITHMS = {"lz4": ["lz4"], "lzo-rle": ["lzo_rle"], "lzo": ["lzo"], "zstd": ["zstd"]}


@dataclass(frozen=True)
class Area:
    """A design's swap area before it has a place."""

    #: None: no swap.
    swap: Swap | None = None
    #: Bytes on the guest's flash or in its NVM.
    flash_bytes: int = 0
    nvm_bytes: int = 0
    #: Bytes of the guest's own memory that the area takes for good. The guest gets as much more than `machine.dram`.
    own_bytes: int = 0
    modules: list[str] = field(default_factory=list)
    #: Options of modules by name.
    options: dict[str, str] = field(default_factory=dict)
    settings: list[Setting] = field(default_factory=list)
    #: A kernel with Direct Read maps the area's pages where they lie.
    direct: bool = False

    @property
    def medium_bytes(self) -> int:
        """NVM, flash or RAM disk beside `machine.dram`."""
        return self.flash_bytes + self.nvm_bytes + self.own_bytes


def _algorithm(design: Design, place: str) -> str:
    algorithm = design.swap.values.get("algorithm", "lz4")
    if algorithm not in _ALGORITHMS:
        raise BadInput(f"{place}: algorithm = '{algorithm}'; expected one of {', '.join(_ALGORITHMS)}")
    return algorithm


def _none(design: Design, place: str) -> Area:
    design.swap.only(place, ())
    return Area()


def _zram(design: Design, place: str) -> Area:
    design.swap.only(place, ("size", "algorithm"))
    algorithm = _algorithm(design, place)
    settings = [
        Setting("/sys/block/zram0/comp_algorithm", algorithm),
        Setting("/sys/block/zram0/disksize", str(spec_size(design.swap, place))),
    ]
    return Area(Swap("/dev/zram0", settings), modules=[*_ALGORITHMS[algorithm], "zram"])


def _flash(design: Design, place: str) -> Area:
    design.swap.only(place, ("size",))
    return Area(Swap("/dev/flash2", []), flash_bytes=spec_size(design.swap, place))


def _zswap(design: Design, place: str) -> Area:
    design.swap.only(place, ("size", "algorithm"))
    algorithm = _algorithm(design, place)
    folder = "/sys/module/zswap/parameters"
    settings = [
        Setting(f"{folder}/compressor", algorithm),
        Setting(f"{folder}/zpool", "zsmalloc", required=False),
        Setting(f"{folder}/max_pool_percent", "20"),
        Setting(f"{folder}/enabled", "Y"),
    ]
    return Area(
        Swap("/dev/flash2", []), flash_bytes=spec_size(design.swap, place), modules=[*_ALGORITHMS[algorithm], "zsmalloc"], settings=settings
    )


def _ramdisk(design: Design, place: str) -> Area:
    design.swap.only(place, ("size",))
    size = spec_size(design.swap, place)
    return Area(Swap("/dev/ram0", [], fill=True), own_bytes=size, modules=["brd"], options={"brd": f"rd_nr=1 rd_size={size >> 10}"})


def _nvm(direct: bool) -> Callable[[Design, str], Area]:
    def area(design: Design, place: str) -> Area:
        design.swap.only(place, ("size",))
        return Area(Swap("/dev/nvm", []), nvm_bytes=spec_size(design.swap, place), direct=direct)

    return area


#: One line a scheme, by the key that it has in every world.
AREAS: dict[str, Callable[[Design, str], Area]] = {
    "none": _none,
    "zram": _zram,
    "zswap": _zswap,
    "flash": _flash,
    "ramdisk": _ramdisk,
    "nvm-copy": _nvm(direct=False),
    "nvm-direct": _nvm(direct=True),
}


def of(design: Design) -> Area:
    """The design's swap area."""
    place = f"design '{design.name}': swap {design.swap.key}"
    if design.swap.key not in AREAS:
        raise BadInput(f"{place}: a guest has no such scheme; expected one of {', '.join(AREAS)}")
    return AREAS[design.swap.key](design, place)
