"""One run: a design under one seed, from request to records."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from swaplab import NotSupported
from swaplab.worlds.vm import areas, blocks, cpio, driver, filesystem, kernels, machine, plan, records
from swaplab.worlds.vm.areas import Area
from swaplab.worlds.vm.kernels import Kernel
from swaplab.worlds.vm.request import Design, Request

MIB = 1 << 20
#: QEMU puts the initramfs and the device tree below 128 MiB and the kernel's own size.
LEAST_BYTES = 192 * MIB
#: The driver's memory comes in units of this.
UNIT = 2 * MIB


@dataclass
class Outcome:
    """What a guest said."""

    started: records.Started | None = None
    visits: list[records.Visit] = field(default_factory=list)
    kills: list[records.Kill] = field(default_factory=list)
    counts: records.Counts | None = None
    checks: list[records.Check] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)

    def take(self, record: records.AnyRecord) -> None:
        """Keep a record."""
        match record:
            case records.Started():
                self.started = record
            case records.Visit():
                self.visits.append(record)
            case records.Kill():
                self.kills.append(record)
            case records.Counts():
                self.counts = record
            case records.Check():
                self.checks.append(record)
            case records.Trace():
                self.trace.append(record.line)


def program() -> Path:
    """The guest's program, as it is bundled."""
    path = Path(__file__).parents[2] / "_native" / "swaplab-guest"
    if not path.is_file():
        raise NotSupported(
            "the world vm needs the guest's program: not in this installation; expected one built by `make` with Rust's target "
            "aarch64-unknown-linux-musl (`rustup target add aarch64-unknown-linux-musl`)"
        )
    return path


@dataclass(frozen=True)
class Layout:
    """Memory and devices of a design's guest."""

    area: Area
    reserved: driver.Reserved
    file_system_bytes: int


def layout(request: Request, design: Design) -> Layout:
    """Where everything lies. Refuses a guest that is too small."""
    area = areas.of(design)
    if request.machine.dram < LEAST_BYTES or request.machine.dram % UNIT:
        raise NotSupported(f"machine.dram: {request.machine.dram} bytes; expected at least 192 MiB, in steps of 2 MiB, for a guest")
    pages = sum(int(app.pages * app.file_share) + app.saved_pages for app in request.apps) + 4096
    files = filesystem.size(pages)
    return Layout(area, blocks.reserved(request, area, files), files)


@dataclass(frozen=True)
class Prepared:
    """A guest that can be started."""

    plan: plan.Plan
    initramfs: bytes
    #: Where QEMU puts the file system's image; None: the initramfs has it.
    image_at: int | None
    #: Of the kernel's command line.
    words: tuple[str, ...]


def prepare(request: Request, design: Design, seed: int, where: Layout, kernel: Kernel, image: Path) -> Prepared:
    """The guest's plan, and all that it starts with."""
    area = where.area
    devices = blocks.of(request, area, where.reserved, where.file_system_bytes, kernel, image)
    options = area.options | devices.options
    order = kernels.load_order(kernel, [*devices.kernel_modules, *area.modules])
    files = [cpio.file(f"mods/{number:02}-{name}.ko", data) for number, (name, data) in enumerate(order)]
    modules = [plan.Module(f"/{entry.path}", options.get(name, "")) for entry, (name, _) in zip(files, order, strict=True)]
    # What is no module is built in, and gets its parameters from the command line.
    loaded = {name for name, _ in order}
    words = tuple(f"{name}.{word}" for name, text in options.items() if name not in loaded for word in text.split())
    swap = dataclasses.replace(area.swap, fill=area.swap.fill or devices.fill_swap) if area.swap else None
    whole = plan.Plan(
        modules=devices.modules + modules,
        directories=devices.directories,
        settings=[*plan.kernel_settings(request), *devices.settings, *area.settings],
        partitions=devices.partitions,
        file_system=devices.file_system,
        swap=swap,
        apps=plan.guest_apps(request),
        system=plan.system_processes(request),
        system_period_ns=round(request.vm.system_period_ns * request.vm.gips),
        visits=plan.visits(request, seed),
        killer=plan.killer(design, request.vm.gips),
        killer_poll_ns=round(plan.KILLER_POLL_NS * request.vm.gips),
        app_policy=plan.steering(design),
        limits=plan.GuestLimits(request.machine.limits.cached, request.machine.limits.services),
        virtual_limit_ns=request.vm.virtual_limit_s * 10**9,
        verify=request.vm.verify,
        events=request.vm.events,
    )
    return Prepared(whole, initramfs(whole, files + devices.files), devices.image_at, words)


def initramfs(whole: plan.Plan, modules: list[cpio.Entry]) -> bytes:
    """All that the guest starts with."""
    folders = [cpio.directory(path) for path in ("dev", "mods")]
    console = cpio.character_device("dev/console", 5, 1)
    init = cpio.file("init", program().read_bytes(), 0o755)
    return cpio.archive([*folders, console, init, *modules, cpio.file("plan.json", json.dumps(whole.table()).encode())])


def run(
    request: Request, design: Design, seed: int, kernel: Kernel, progress: Callable[[int, int], None], stopped: Callable[[], bool]
) -> Outcome:
    """Run one design under one seed; `progress` hears how many visits of how many are done."""
    where = layout(request, design)
    outcome = Outcome()
    visits = len(request.launches.order) * (request.launches.warm_up + request.launches.rounds)

    def told(record: records.AnyRecord) -> None:
        outcome.take(record)
        if isinstance(record, records.Progress):
            progress(record.visits, visits)

    with tempfile.TemporaryDirectory(prefix="swaplab-vm-") as name:
        folder = Path(name)
        image = folder / "files.img"
        filesystem.make(image, where.file_system_bytes)
        prepared = prepare(request, design, seed, where, kernel, image)
        (folder / "initramfs.cpio").write_bytes(prepared.initramfs)
        made = machine.Machine(
            kernel=kernel,
            initramfs=folder / "initramfs.cpio",
            guest_bytes=where.reserved.guest,
            total_bytes=where.reserved.total,
            cpus=request.vm.cpus,
            image=None if prepared.image_at is None else (image, prepared.image_at),
            wall_limit_s=request.vm.wall_limit_s,
            words=prepared.words,
        )
        machine.run(made, folder / "console", told, stopped)
    return outcome
