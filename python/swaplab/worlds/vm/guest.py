"""The run of a design under one seed in a guest, from the plan to the guest's records."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from swaplab._core import span_seconds
from swaplab.core.errors import NotSupported
from swaplab.worlds.kernel.collect import events
from swaplab.worlds.kernel.collect.events import Event
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.vm import blocks, cpio, driver, filesystem, kernels, machine, plan, reads, records
from swaplab.worlds.vm.apps import guest_apps, system
from swaplab.worlds.vm.areas import Area, area_of
from swaplab.worlds.vm.kernels import Kernel

#: Room for the files of the system's process.
SYSTEM_FILE_PAGES = 4096


@dataclass
class Outcome:
    """The records of a guest."""

    started: records.Started | None = None
    visits: list[records.Visit] = field(default_factory=list)
    kills: list[records.Kill] = field(default_factory=list)
    compactions: list[records.Compaction] = field(default_factory=list)
    counts: records.Counts | None = None
    checks: list[records.Check] = field(default_factory=list)
    samples: list[records.Sample] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    #: Loads from NVM mapped in place; None if they were not counted.
    reads: reads.Reads | None = None

    def take(self, record: records.AnyRecord) -> None:
        """Store a record."""
        match record:
            case records.Started():
                self.started = record
            case records.Visit():
                self.visits.append(record)
            case records.Kill():
                self.kills.append(record)
            case records.Compaction():
                self.compactions.append(record)
            case records.Counts():
                self.counts = record
            case records.Check():
                self.checks.append(record)
            case records.Sample():
                self.samples.append(record)
            case records.Trace():
                self.trace.append(record.line)

    @cached_property
    def text(self) -> str:
        """The trace in ftrace's format; empty if no events were requested. To be read after the
        guest has ended, as `events`.
        """
        return "\n".join(self.trace) + "\n" if self.trace else ""

    @cached_property
    def events(self) -> list[Event]:
        """The events of the trace, in order."""
        return events.parse(self.text)


def program() -> Path:
    """Return the path of the bundled guest program. Raises NotSupported if it is missing."""
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
    reserved: driver.ReservedMemory
    file_system_bytes: int


def layout(of: Configuration) -> Layout:
    """Compute the layout of memory and devices."""
    area = area_of(of)
    files = filesystem.size(sum(app.feature.file_pages for app in guest_apps(of)) + SYSTEM_FILE_PAGES)
    return Layout(area, blocks.reserved(of, area, files), files)


@dataclass(frozen=True)
class PreparedGuest:
    """A guest that is ready to start."""

    plan: plan.Plan
    initramfs: bytes
    #: Address to which QEMU loads the file system's image; None: it is in the initramfs.
    image_at: int | None
    #: Additional parameters of the kernel's command line.
    words: tuple[str, ...]


def prepare(of: Configuration, seed: int, where: Layout, kernel: Kernel, image: Path) -> PreparedGuest:
    """Build the guest's plan and initramfs."""
    area, vm = where.area, of.experiment.run.vm
    devices = blocks.blocks(of, area, where.reserved, where.file_system_bytes, kernel, image)
    options = area.options | devices.options
    order = kernels.load_order(kernel, [*devices.kernel_modules, *area.modules])
    files = [cpio.file(f"mods/{number:02}-{name}.ko", data) for number, (name, data) in enumerate(order)]
    modules = [plan.Module(f"/{entry.path}", options.get(name, "")) for entry, (name, _) in zip(files, order, strict=True)]
    # Built-in drivers get their parameters from the command line.
    loaded = {name for name, _ in order}
    words = tuple(f"{name}.{word}" for name, text in options.items() if name not in loaded for word in text.split())
    guest_plan = plan.Plan(
        modules=devices.modules + modules,
        directories=devices.directories,
        settings=[*plan.kernel_settings(of), *devices.settings, *area.settings],
        partitions=devices.partitions,
        file_system=devices.file_system,
        swap=dataclasses.replace(area.swap, fill=area.swap.fill or devices.fill_swap) if area.swap else None,
        apps=guest_apps(of),
        system=system(of, plan.guest_ns(vm, "run.vm.system_period", vm.system_period)),
        visits=plan.visits(of, seed),
        killer=of.killer_spec,
        app_policy=of.design.app_policy,
        gips=vm.gips,
        limits=plan.limits(of),
        compaction=plan.compaction(of),
        app_groups=plan.app_groups(of),
        group_bytes=plan.memory(of)[1],
        virtual_limit_ns=round(span_seconds("run.vm.virtual_limit", vm.virtual_limit) * 1e9),
        verify=vm.verify,
        samples=vm.samples,
        events=vm.events,
    )
    return PreparedGuest(guest_plan, initramfs(guest_plan, files + devices.files), devices.image_at, words)


def initramfs(guest_plan: plan.Plan, modules: list[cpio.Entry]) -> bytes:
    """Build the initramfs: console, program, modules and plan."""
    folders = [cpio.directory(path) for path in ("dev", "mods")]
    console = cpio.character_device("dev/console", 5, 1)
    init = cpio.file("init", program().read_bytes(), 0o755)
    return cpio.archive([*folders, console, init, *modules, cpio.file("plan.json", json.dumps(dataclasses.asdict(guest_plan)).encode())])


def run(of: Configuration, seed: int, kernel: Kernel, progress: Callable[[int], None], stopped: Callable[[], bool]) -> Outcome:
    """Run a design under one seed; `progress` is called with the number of finished visits."""
    where, vm = layout(of), of.experiment.run.vm
    outcome = Outcome()

    def take_record(record: records.AnyRecord) -> None:
        outcome.take(record)
        if isinstance(record, records.Progress):
            progress(record.visits)

    with tempfile.TemporaryDirectory(prefix="swaplab-vm-") as name:
        folder = Path(name)
        image = folder / "files.img"
        filesystem.make(image, where.file_system_bytes)
        prepared = prepare(of, seed, where, kernel, image)
        (folder / "initramfs.cpio").write_bytes(prepared.initramfs)
        console, marks = folder / "console", folder / "marks"
        counts_reads = vm.count_reads is not None and where.area.direct
        made = machine.Machine(
            kernel=kernel,
            initramfs=folder / "initramfs.cpio",
            guest_bytes=where.reserved.guest,
            total_bytes=where.reserved.total,
            cpus=vm.cpus,
            image=None if prepared.image_at is None else (image, prepared.image_at),
            wall_limit_s=span_seconds("run.vm.wall_limit", vm.wall_limit),
            words=prepared.words,
            plugin=reads.option(vm, where.reserved, marks) if counts_reads else None,
        )
        machine.run(made, console, take_record, stopped)
        if counts_reads:
            outcome.reads = reads.read(console.read_bytes(), marks.read_text())
    return outcome
