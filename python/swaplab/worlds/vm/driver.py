"""The guest's priced block devices, `kernel/driver`: built once per kernel, with prices from the
device specs.

The driver is GPL-2.0-only and not part of the wheel; it is built from a checkout of swaplab's
source.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from swaplab._core import device_service
from swaplab.core.errors import NotSupported
from swaplab.core.model import Devices
from swaplab.worlds.vm import cache, tools
from swaplab.worlds.vm.kernels import Kernel
from swaplab.worlds.vm.packages import HOST_STATUS, Archive

MIB = 1 << 20
#: Physical address of the memory of QEMU's machine `virt`.
MEMORY_AT = 1 << 30


def kernel_parts() -> Path | None:
    """Return the folder `kernel/` of swaplab's source: SWAPLAB_KERNEL_PARTS, by default that of the
    checkout; None if there is none.
    """
    given = os.environ.get("SWAPLAB_KERNEL_PARTS")
    path = Path(given) if given else Path(__file__).parents[4] / "kernel"
    return path if (path / "driver" / "Makefile").is_file() else None


def required_parts() -> Path:
    """Return the folder `kernel/`. Raises NotSupported, with a remedy, if there is none."""
    parts = kernel_parts()
    if parts is None:
        raise NotSupported(
            "the world vm needs the guest's devices: kernel/ of swaplab's source, which is not part of the package; expected a checkout, "
            "SWAPLAB_KERNEL_PARTS, or run.vm.block_devices = 'null-blk'"
        )
    return parts


@dataclass(frozen=True)
class ReservedMemory:
    """Sizes of the guest's memory and of the devices' memory behind it, in bytes, multiples of 2
    MiB.
    """

    guest: int
    nvm: int
    flash: int

    @property
    def total(self) -> int:
        """The memory size of QEMU's machine."""
        return self.guest + self.nvm + self.flash

    @property
    def flash_at(self) -> int:
        """Physical address of the flash's first byte."""
        return MEMORY_AT + self.guest + self.nvm


def options(reserved: ReservedMemory, devices: Devices, gips: float, direct: bool, cpus: int, request_kib: int | None) -> str:
    """Format the module's parameters. A core of k GIPS executes k times as much during a device's
    work, so prices are multiplied by k. `request_kib`: the largest request, if it is not the
    driver's own.
    """
    depth, read, read_transfer, write, write_transfer = device_service(devices.flash)
    words = {
        "base_kib": (MEMORY_AT + reserved.guest) >> 10,
        "nvm_kib": reserved.nvm >> 10,
        "flash_kib": reserved.flash >> 10,
        "flash_read_latency_ns": round(read * gips),
        "flash_write_latency_ns": round(write * gips),
        "flash_read_kib_s": _kib_s(read_transfer, gips),
        "flash_write_kib_s": _kib_s(write_transfer, gips),
        "flash_channels": min(depth, 64),
    }
    if reserved.nvm:
        _, read, read_transfer, write, write_transfer = device_service(devices.nvm)
        words |= {"nvm_read_ns": round((read + read_transfer) * gips), "nvm_write_ns": round((write + write_transfer) * gips)}
    if direct:
        words["nvm_direct"] = 1
    if request_kib is not None:
        words["flash_merge_kib"] = request_kib
    # With several processors the clock is the sum over them, so a spinning one would take time from
    # the others.
    if cpus == 1:
        words["spin_idle"] = 1
    return " ".join(f"{key}={value}" for key, value in words.items())


def _kib_s(page_ns: int, gips: float) -> int:
    """Convert the transfer time of a page in ns to a bandwidth in KiB/s; 0 (no transfer time) if it
    is 0.
    """
    return round(4 * 1e9 / (page_ns * gips)) if page_ns else 0


def module(kernel: Kernel) -> Path:
    """Build the driver for a kernel, or take it from the cache. Returns the module's path."""
    parts = required_parts()
    if kernel.headers is None:
        raise NotSupported(f"the world vm needs what modules are built against: {kernel.name} has neither headers nor Module.symvers")
    sources = sorted(path for path in (parts / "driver").iterdir() if path.suffix in (".c", ".h") or path.name == "Makefile")
    compilers = tools.find(*tools.MODULE)
    key = cache.sha256_of(
        kernel.sha256, compilers.version(tools.COMPILER), *(part for path in sources for part in (path.name, path.read_bytes()))
    )
    target = cache.folder() / "drivers" / key[:32]
    if not (target / "swaplab.ko").is_file():
        with cache.new_folder(target) as made:
            build = made / "build"
            build.mkdir()
            for path in sources:
                shutil.copy(path, build)
            prefix = str(compilers.paths[tools.COMPILER.command]).removesuffix("gcc")
            _make(compilers, _headers(kernel), [f"M={build}", "modules"], prefix)
            subprocess.run([f"{prefix}strip", "-g", build / "swaplab.ko", "-o", made / "swaplab.ko"], env=compilers.environment, check=True)
            shutil.rmtree(build)
    return target / "swaplab.ko"


def _make(compilers: tools.Tools, headers: Path, words: list[str], prefix: str) -> None:
    command = [str(compilers.paths["make"]), "-s", "-C", str(headers), "ARCH=arm64", f"CROSS_COMPILE={prefix}", f"CC={prefix}gcc", *words]
    done = subprocess.run(command, env=compilers.environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        reason = next((line for line in lines if " error: " in line), " ".join(lines)[-600:])
        raise NotSupported(f"the world vm needs the driver for {headers.name}, which does not compile: {reason}")


def _headers(kernel: Kernel) -> Path:
    """Return the kernel's headers, adapted to their location: the distribution's headers expect to
    be below /usr/src.
    """
    assert kernel.headers is not None
    makefile = kernel.headers / "Makefile"
    text = makefile.read_text()
    if not text.startswith("include /usr/src/"):
        return kernel.headers
    release = kernel.release.removesuffix("-cloud-arm64")
    series = ".".join(map(str, kernel.version()))
    archive = Archive(tools.host_architecture(), HOST_STATUS if HOST_STATUS.is_file() else None)
    scripts = archive.names(rf"linux-kbuild-({release}|{series})".replace("+", r"\+"))
    if not scripts:
        raise NotSupported(f"the world vm needs linux-kbuild-{release}: this distribution has no such package")
    target = kernel.headers.parents[3] / "kbuild"
    archive.unpack(scripts[-1:], target)
    root = kernel.headers.parents[2]
    # The headers refer to their scripts by relative links into /usr/lib.
    link = root / "usr" / "lib" / scripts[-1]
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target / "root" / "usr" / "lib" / scripts[-1])
    # If it exists, the build needs pahole, to write type information that is not used here.
    (kernel.headers / "vmlinux").unlink(missing_ok=True)
    makefile.write_text(text.replace("include /usr/src/", f"include {root}/usr/src/"))
    return kernel.headers
