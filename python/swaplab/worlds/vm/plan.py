"""The guest's plan, which crates/guest reads from `/plan.json` (its `plan.rs` has the same keys),
and its construction from a design.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from swaplab._core import size_bytes, span_seconds, vm_memory
from swaplab.core.errors import BadInput
from swaplab.core.model import OneOrMany, VmRun
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.swap import spec_text
from swaplab.worlds.vm.apps import GuestApp, System

#: A number of cached apps that means no limit.
NO_LIMIT = 1 << 31


@dataclass(frozen=True)
class Module:
    """A kernel module in the initramfs."""

    path: str
    options: str = ""


@dataclass(frozen=True)
class Setting:
    """A kernel file and the value to write to it."""

    path: str
    value: str
    required: bool = True


@dataclass(frozen=True)
class Partition:
    """A part of a block device."""

    device: str
    number: int
    start_bytes: int
    length_bytes: int


@dataclass(frozen=True)
class FileSystem:
    """The file system of the apps' files."""

    device: str
    kind: str = "ext4"
    #: The file with its blocks, if it is not on its device when the guest starts.
    image: str | None = None


@dataclass(frozen=True)
class Swap:
    """The swap area."""

    device: str
    settings: list[Setting]
    bytes: int | None = None
    fill: bool = False


@dataclass(frozen=True)
class Visit:
    """A launch or resume."""

    app: int
    round: int
    warm_up: bool
    foreground_ns: int
    think_ns: int


@dataclass(frozen=True)
class Limits:
    """Android's limits on apps."""

    cached: int
    services: int


@dataclass(frozen=True)
class Throttles:
    """The limits in kB below which AOSP's compaction passes over an app."""

    full_rss_kb: int
    full_delta_rss_kb: int


@dataclass(frozen=True)
class Compaction:
    """App compaction."""

    kinds: str
    after_ns: int
    throttles: Throttles


@dataclass(frozen=True)
class Plan:
    """The guest's plan. Times are the guest's: those of the experiment multiplied by `gips`."""

    modules: list[Module]
    directories: list[str]
    settings: list[Setting]
    partitions: list[Partition]
    file_system: FileSystem | None
    swap: Swap | None
    apps: list[GuestApp]
    system: System | None
    visits: list[Visit]
    #: Killer and app policy as in the experiment; the guest resolves them by the rules that all
    #: worlds share.
    killer: OneOrMany
    app_policy: OneOrMany
    gips: float
    limits: Limits
    #: None if apps are not compacted.
    compaction: Compaction | None
    #: Whether each app has its own memory control group.
    app_groups: bool
    #: Limit in bytes of the control group of all apps; None if the guest's memory is their limit.
    group_bytes: int | None
    virtual_limit_ns: int
    verify: bool
    samples: bool
    events: list[str]


def memory(of: Configuration) -> tuple[int, int | None]:
    """Compute the bytes of the guest's memory, and of the apps' control group; None if
    `machine.dram` is the guest's memory.
    """
    return vm_memory(of.experiment.run.vm.model_dump_json(exclude_none=True), of.memory)


def app_groups(of: Configuration) -> bool:
    """Whether each app has its own memory control group. It is equal for all designs of an
    experiment, so that they are comparable.
    """
    needed = any(spec_text(design.app_policy) != "none" for design in of.experiment.design)
    wanted = of.experiment.run.vm.app_groups
    if needed and wanted is False:
        raise BadInput("run.vm.app_groups: false; expected true, as a design's app policy forbids swap-outs app by app")
    return needed if wanted is None else wanted


def guest_ns(vm: VmRun, key: str, span: str) -> int:
    """Convert a span of the experiment to nanoseconds of the guest's clock."""
    return round(span_seconds(key, span) * 1e9 * vm.gips)


def limits(of: Configuration) -> Limits:
    """Return `machine.limits`."""
    wanted = of.experiment.machine.limits
    return Limits(NO_LIMIT if wanted.cached is None else wanted.cached, wanted.services)


def compaction(of: Configuration) -> Compaction | None:
    """Return `machine.background`'s compaction of cached apps, the only background work of guests'
    apps that can be set there.
    """
    wanted = of.experiment.machine.background
    if wanted.compact == "off":
        return None
    after = guest_ns(of.experiment.run.vm, "machine.background.compact_after", wanted.compact_after)
    throttles = Throttles(wanted.compact_full_rss_throttle_kb, wanted.compact_full_delta_rss_throttle_kb)
    return Compaction(wanted.compact, after, throttles)


def visits(of: Configuration, seed: int) -> list[Visit]:
    """List all visits. Think times differ by microseconds between seeds, and are equal for all
    designs of one seed.
    """
    vm, table = of.experiment.run.vm, of.table
    rng = random.Random(seed)
    numbers = {app.name: number for number, app in enumerate(of.apps)}
    foreground = guest_ns(vm, "workload.launches.foreground", table.foreground)
    think, shift = guest_ns(vm, "run.vm.think", vm.think), round(span_seconds("run.vm.shift", vm.shift) * 1e9)
    return [
        Visit(numbers[name], number, number < table.warm_up, foreground, think + rng.randrange(shift + 1))
        for number in range(table.warm_up + table.rounds)
        for name in of.order
    ]


def kernel_settings(of: Configuration) -> list[Setting]:
    """List the kernel's settings as files, with a phone's values for those that the experiment does
    not set.
    """
    kernel, vm = of.experiment.machine.kernel, of.experiment.run.vm
    # Android's extra_free_kbytes raises the low and high watermarks. This factor does too, in
    # 1/10000 of memory (default 10).
    extra = 0 if kernel.extra_free == "0" else size_bytes("machine.kernel.extra_free", kernel.extra_free)
    factor = vm.watermark_scale_factor or min(3000, 10 + round(10_000 * extra / memory(of)[0]))
    values = {
        "swappiness": 100 if kernel.swappiness is None else kernel.swappiness,
        "page-cluster": kernel.page_cluster or 0,
        "watermark_scale_factor": factor,
        "watermark_boost_factor": 0,
        "dirty_background_ratio": vm.dirty_background_ratio,
        "dirty_ratio": vm.dirty_ratio,
    }
    rows = [Setting(f"/proc/sys/vm/{name}", str(value)) for name, value in values.items()]
    return [*rows, Setting("/sys/kernel/mm/lru_gen/enabled", "y" if vm.mglru else "n", required=vm.mglru)]
