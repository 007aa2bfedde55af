"""The guest's block devices: swaplab's priced driver, or the kernel's null_blk under the same
names.

The driver's memory is reserved behind the guest's memory. null_blk stores its pages in the guest's
memory, so the guest gets that much more, and the devices are filled before the first app starts.
With null_blk, a request takes a fixed time, independent of its size and of the queue length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from swaplab._core import device_service
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.vm import cpio, driver, filesystem, plan
from swaplab.worlds.vm.areas import Area
from swaplab.worlds.vm.kernels import Kernel

MIB = 1 << 20
_CONFIG = "/sys/kernel/config/nullb"


@dataclass(frozen=True)
class Blocks:
    """The parts of a guest that its block devices need."""

    #: Modules of the kernel, which are loaded first.
    kernel_modules: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    modules: list[plan.Module] = field(default_factory=list)
    files: list[cpio.Entry] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    settings: list[plan.Setting] = field(default_factory=list)
    partitions: list[plan.Partition] = field(default_factory=list)
    file_system: plan.FileSystem | None = None
    #: Address to which QEMU loads the file system's image; None: it is in `files`.
    image_at: int | None = None
    fill_swap: bool = False


def reserved(of: Configuration, area: Area, files: int) -> driver.ReservedMemory:
    """Compute the memory of the guest, and of the devices behind it."""
    guest = plan.memory(of)[0] + _units(area.own_bytes)
    nvm, flash = _units(area.nvm_bytes), files + _units(area.flash_bytes)
    if of.experiment.run.vm.block_devices == "null-blk":
        return driver.ReservedMemory(guest + nvm + flash, 0, 0)
    return driver.ReservedMemory(guest, nvm, flash)


def _units(size: int) -> int:
    """Round up to the driver's units of 2 MiB."""
    return -(-size // (2 * MIB)) * 2 * MIB


def blocks(of: Configuration, area: Area, where: driver.ReservedMemory, files: int, kernel: Kernel, image: Path) -> Blocks:
    """Build the devices for a design; `image` is the file system's image, `files` its size in
    bytes.
    """
    if of.experiment.run.vm.block_devices == "null-blk":
        return _null_blk(of, area, files, image)
    vm = of.experiment.run.vm
    parameters = driver.options(where, of.experiment.machine.devices, vm.gips, area.direct, vm.cpus, of.request_kib)
    partitions = [plan.Partition("/dev/flash", 1, 0, files)]
    if area.flash_bytes:
        partitions.append(plan.Partition("/dev/flash", 2, files, area.flash_bytes))
    return Blocks(
        modules=[plan.Module("/mods/swaplab.ko", parameters)],
        files=[cpio.file("mods/swaplab.ko", driver.module(kernel).read_bytes())],
        settings=[_read_ahead("flash", of)],
        partitions=partitions,
        file_system=plan.FileSystem("/dev/flash1"),
        image_at=where.flash_at,
    )


def _read_ahead(device: str, of: Configuration) -> plan.Setting:
    return plan.Setting(f"/sys/block/{device}/queue/read_ahead_kb", str(of.read_ahead_kib))


def _null_blk(of: Configuration, area: Area, files: int, image: Path) -> Blocks:
    _, own, transfer, _, _ = device_service(of.experiment.machine.devices.flash)
    price = round((own + transfer) * of.experiment.run.vm.gips)
    wanted = [("flash1", files, price), ("flash2", area.flash_bytes, price), ("nvm", area.nvm_bytes, 0)]
    devices = [(name, size, ns) for name, size, ns in wanted if size]
    settings = [
        plan.Setting(f"{_CONFIG}/{name}/{key}", str(value))
        for name, size, ns in devices
        for key, value in {
            "size": size // MIB,
            "blocksize": 4096,
            "memory_backed": 1,
            # 2: a timer completes a request after `completion_nsec`; 0: at once.
            "irqmode": 2 if ns else 0,
            "completion_nsec": ns,
            "power": 1,
        }.items()
    ]
    if of.request_kib is not None:
        settings += [plan.Setting(f"/sys/block/{name}/queue/max_sectors_kb", str(of.request_kib)) for name, _, _ in devices]
    return Blocks(
        kernel_modules=["null_blk"],
        options={"null_blk": "nr_devices=0"},
        files=[cpio.file("files.img", filesystem.packed(image))],
        directories=[f"{_CONFIG}/{name}" for name, _, _ in devices],
        settings=[*settings, _read_ahead("flash1", of)],
        file_system=plan.FileSystem("/dev/flash1", image="/files.img"),
        fill_swap=bool(area.flash_bytes or area.nvm_bytes),
    )
