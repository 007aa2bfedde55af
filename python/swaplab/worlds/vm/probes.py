"""Probes of what the world `vm` needs of this machine, for `swaplab doctor`. The first run fetches
most of it with apt.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

from swaplab.core.errors import NotSupported
from swaplab.worlds.capabilities import Probed, ProbeLine
from swaplab.worlds.vm import driver, guest, kernels, tools

STOCK = "debian-6.12"


def _fetched() -> str:
    """Describe whether a missing part can be fetched."""
    lacking = [name for name in tools.FETCHERS if shutil.which(name) is None]
    return f"there is no {' and no '.join(lacking)} to fetch it" if lacking else "the first run fetches it"


def _tools(*programs: tools.Program) -> Callable[[], Probed]:
    def probe() -> Probed:
        if absent := tools.missing_programs(*programs):
            names = ", ".join(f"{program.command} (package {program.package})" for program in absent)
            return False, f"not on the path: {names}; {_fetched()}"
        return True, f"on the path: {', '.join(program.command for program in programs)}"

    return probe


def _kernel() -> Probed:
    if kernels.is_downloaded(STOCK):
        return True, f"{STOCK} is in the cache"
    return False, f"{STOCK} is not in the cache; {_fetched()}"


def _driver() -> Probed:
    try:
        return True, str(driver.required_parts())
    except NotSupported as error:
        return False, str(error).partition(": ")[2]


def _guest() -> Probed:
    try:
        return True, str(guest.program())
    except NotSupported as error:
        return False, str(error).partition(": ")[2]


PROBES: tuple[ProbeLine, ...] = (
    ("vm-qemu", ("vm",), _tools(tools.QEMU)),
    ("vm-mke2fs", ("vm",), _tools(tools.MKE2FS)),
    ("vm-compiler", ("vm: block_devices = driver",), _tools(*tools.MODULE)),
    ("vm-driver-source", ("vm: block_devices = driver",), _driver),
    ("vm-kernel", (f"vm: kernel = {STOCK}",), _kernel),
    ("vm-guest-program", ("vm",), _guest),
)
