"""The guest's plan: what crates/guest reads from `/plan.json` (its `plan.rs` has the same keys), and how designs become one."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass

from swaplab import BadInput
from swaplab.worlds.vm.request import App, Design, Request, Spec


@dataclass(frozen=True)
class Module:
    """A kernel module in the initramfs."""

    path: str
    options: str = ""


@dataclass(frozen=True)
class Setting:
    """A file of the kernel's and what is written to it."""

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
    """Where the apps' files are."""

    device: str
    kind: str = "ext4"
    #: Its blocks, where it is not on its device when the guest starts.
    image: str | None = None


@dataclass(frozen=True)
class Swap:
    """The swap area."""

    device: str
    settings: list[Setting]
    bytes: int | None = None
    fill: bool = False


@dataclass(frozen=True)
class Feature:
    """An app's access feature (crates/app-sim)."""

    footprint: str
    file_share: float
    hot_share: float
    write_ratio: float
    compressibility: float
    launch_set: float
    resume_set: float
    hot_first: bool
    run: int
    saved_pages: int
    seed: int


@dataclass(frozen=True)
class GuestApp:
    """An app or a system process."""

    name: str
    feature: Feature
    work_pages: int
    service: bool
    cold_ns: int = 0


@dataclass(frozen=True)
class Visit:
    """One launch or resume."""

    app: int
    round: int
    warm_up: bool
    foreground_ns: int
    think_ns: int


@dataclass(frozen=True)
class Killer:
    """The low-memory killer's parameters (crates/apps)."""

    style: str
    victim: str
    minfree_kb: list[int]
    adj: list[int]
    low_memory_kb: int
    psi_partial_stall_ms: int
    psi_complete_stall_ms: int
    swap_free_low_percentage: int
    thrashing_limit: int


@dataclass(frozen=True)
class Steering:
    """An app policy (crates/apps, A2S)."""

    key: str
    t_live: float
    t_reuse: float
    t_launched: int


@dataclass(frozen=True)
class GuestLimits:
    """Android's limits on apps."""

    cached: int
    services: int


@dataclass(frozen=True)
class Plan:
    """All of it."""

    modules: list[Module]
    directories: list[str]
    settings: list[Setting]
    partitions: list[Partition]
    file_system: FileSystem | None
    swap: Swap | None
    apps: list[GuestApp]
    system: list[GuestApp]
    system_period_ns: int
    visits: list[Visit]
    killer: Killer | None
    killer_poll_ns: int
    app_policy: Steering
    limits: GuestLimits
    virtual_limit_ns: int
    verify: bool
    events: list[str]

    def table(self) -> dict[str, object]:
        """As the guest reads it."""
        return asdict(self)


#: lmkd looks so often while it is under pressure (PSI_POLL_PERIOD_SHORT_MS).
KILLER_POLL_NS = 10_000_000


def guest_apps(request: Request) -> list[GuestApp]:
    """The apps in their order; the first `limits.services` that say so, or that are drawn, run a service."""
    services = {app.name for app in request.apps if app.service}
    if not services:
        dice = random.Random(request.seed)
        services = set(dice.sample([app.name for app in request.apps], min(request.machine.limits.services, len(request.apps))))
    return [_app(app, app.name in services) for app in request.apps]


def _app(app: App, service: bool) -> GuestApp:
    feature = Feature(**app.model_dump(include=set(Feature.__dataclass_fields__)))
    return GuestApp(app.name, feature, app.work, service)


def system_processes(request: Request) -> list[GuestApp]:
    """One process that stands for the system's: it holds memory, wakes up, and stalls where apps stall."""
    if request.vm.system == "0":
        return []
    shape = App(name="system", footprint=request.vm.system, launch_set=1.0, hot_share=0.25, file_share=0.4, saved_pages=4, work=64, seed=9)
    return [_app(shape, True)]


def visits(request: Request, seed: int) -> list[Visit]:
    """Every visit. Think times differ by microseconds from seed to seed, and are the same for all designs of one seed."""
    dice = random.Random(seed)
    numbers = {app.name: number for number, app in enumerate(request.apps)}
    launches, vm = request.launches, request.vm
    return [
        Visit(
            numbers[name],
            number,
            number < launches.warm_up,
            round(launches.foreground_ns * vm.gips),
            round(vm.think_ns * vm.gips) + dice.randrange(vm.shift_ns + 1),
        )
        for number in range(launches.warm_up + launches.rounds)
        for name in launches.order
    ]


_MINFREE_KB, _ADJ = (73_728, 92_160, 110_592, 129_024, 147_456, 184_320), (0, 100, 200, 300, 900, 900)
_LMKD = ("low_memory_kb", "psi_partial_stall_ms", "psi_complete_stall_ms", "swap_free_low_percentage", "thrashing_limit", "victim")


def killer(design: Design, gips: float) -> Killer | None:
    """The design's killer. Its times are divided by the core's speed, as all of the guest's are."""
    spec = design.killer
    if spec is None or spec.key == "off":
        return None
    place = f"design '{design.name}': killer {spec.key}"
    if spec.key not in ("minfree", "lmkd"):
        raise BadInput(f"{place}; expected minfree, lmkd or off")
    spec.only(place, ("minfree_kb", "adj", "victim") if spec.key == "minfree" else _LMKD)

    def numbers(name: str, default: tuple[int, ...]) -> list[int]:
        try:
            return [int(word) for word in spec.values[name].split("/")] if name in spec.values else list(default)
        except ValueError as error:
            raise BadInput(f"{place}: {name} = '{spec.values[name]}'; expected whole numbers with / between them") from error

    minfree, adj = numbers("minfree_kb", _MINFREE_KB), numbers("adj", _ADJ)
    if len(minfree) != len(adj) or minfree != sorted(minfree):
        raise BadInput(f"{place}: minfree_kb = {minfree}; expected as many levels as adj has, the smallest first")
    return Killer(
        style="minfree" if spec.key == "minfree" else "psi",
        victim=spec.values.get("victim", "lru"),
        minfree_kb=minfree,
        adj=adj,
        low_memory_kb=int(spec.number(place, "low_memory_kb", 0)),
        psi_partial_stall_ms=round(spec.number(place, "psi_partial_stall_ms", 70) * gips),
        psi_complete_stall_ms=round(spec.number(place, "psi_complete_stall_ms", 700) * gips),
        swap_free_low_percentage=int(spec.number(place, "swap_free_low_percentage", 10)),
        thrashing_limit=int(spec.number(place, "thrashing_limit", 100)),
    )


def steering(design: Design) -> Steering:
    """The design's app policy; thresholds of A2S, Section 5.1."""
    spec, place = design.app_policy, f"design '{design.name}': app policy {design.app_policy.key}"
    if spec.key not in ("none", "ess", "lvsp", "a2s"):
        raise BadInput(f"{place}: reclaim of a stock kernel cannot be told so by control groups; expected none, ess, lvsp or a2s")
    spec.only(place, ("t_live", "t_reuse", "t_launched"))
    values = [spec.number(place, name, default) for name, default in (("t_live", 18), ("t_reuse", 64), ("t_launched", 3))]
    return Steering(spec.key, values[0], values[1], int(values[2]))


def kernel_settings(request: Request) -> list[Setting]:
    """`[machine.kernel]` as files of the kernel."""
    kernel = request.machine.kernel
    # Android's extra_free_kbytes raises the low and the high watermark; so does this factor, in ten thousandths of memory (10 by default).
    factor = kernel.watermark_scale_factor or min(3000, 10 + round(10_000 * kernel.extra_free / request.machine.dram))
    values = {
        "swappiness": kernel.swappiness,
        "page-cluster": kernel.page_cluster,
        "watermark_scale_factor": factor,
        "watermark_boost_factor": 0,
        "dirty_background_ratio": kernel.dirty_background_ratio,
        "dirty_ratio": kernel.dirty_ratio,
    }
    rows = [Setting(f"/proc/sys/vm/{name}", str(value)) for name, value in values.items()]
    return [*rows, Setting("/sys/kernel/mm/lru_gen/enabled", "y" if kernel.mglru else "n", required=kernel.mglru)]


def check_order(request: Request) -> None:
    """Refuse launches of apps that are not there, and apps of one name."""
    names = [app.name for app in request.apps]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"workload.apps: two apps are named '{twice}'; expected a name for each")
    if strange := next((name for name in request.launches.order if name not in names), None):
        raise BadInput(f"workload.launches: '{strange}'; expected names of apps: {', '.join(names)}")


def spec_size(spec: Spec, place: str) -> int:
    """Bytes of a swap area, whole MiB, at least one."""
    size = spec.size(place, 0)
    if size < 1 << 20 or size % (1 << 20):
        raise BadInput(f"{place}: size = '{spec.values.get('size', '')}'; expected whole MiB, such as {spec.key}:size=64MiB")
    return size
