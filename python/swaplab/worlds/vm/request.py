"""What the world `vm` is asked, and what it answers: the parts of an experiment that it runs and of a document that it fills.

Field names are those of the experiment's tables (`[machine]`, `[[design]]`, `[workload]`, `[run] vm`) and of a document's row, so that
whoever builds one from the other copies fields.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from swaplab import BadInput
from swaplab._core import size_bytes


class Strict(BaseModel):
    """Refuses what it doesn't know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Spec(Strict):
    """A thing with parameters: `zram:size=64MiB,algorithm=lz4`."""

    key: str
    values: dict[str, str] = {}

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Read the text form."""
        key, _, rest = text.partition(":")
        pairs = [part.partition("=") for part in rest.split(",")] if rest else []
        if bad := next((name for name, equals, _ in pairs if not equals or not name), None):
            raise BadInput(f"'{text}': '{bad}'; expected KEY:NAME=VALUE,NAME=VALUE")
        return cls(key=key, values={name: value for name, _, value in pairs})

    def only(self, place: str, known: tuple[str, ...]) -> None:
        """Refuse parameters that nobody reads."""
        if unknown := [name for name in self.values if name not in known]:
            raise BadInput(f"{place}: '{unknown[0]}'; expected one of {', '.join(known) or 'no parameters'}")

    def size(self, place: str, default: int) -> int:
        """Bytes of the parameter `size`."""
        return size_bytes(f"{place}: size", self.values["size"]) if "size" in self.values else default

    def number(self, place: str, name: str, default: float) -> float:
        """A number by name."""
        try:
            return float(self.values.get(name, default))
        except ValueError as error:
            raise BadInput(f"{place}: {name} = '{self.values[name]}'; expected a number") from error

    def __str__(self) -> str:
        return self.key + (":" + ",".join(f"{name}={value}" for name, value in self.values.items()) if self.values else "")


class Kernel(Strict):
    """`[machine.kernel]`: settings that decide whether results transfer to a phone, with a phone's defaults."""

    #: MGLRU, on as in Android's kernels since 6.1.
    mglru: bool = True
    #: vm.swappiness, 0 to 200 (Android: 60 by default, 100 with zram on most phones, 160 on some).
    swappiness: int = Field(default=100, ge=0, le=200)
    #: vm.page-cluster: a swap-in reads 2^n pages (Android: 0 with zram).
    page_cluster: int = Field(default=0, ge=0, le=8)
    #: The gap between the watermarks in ten thousandths of memory; None: what `extra_free` says.
    watermark_scale_factor: int | None = Field(default=None, ge=1, le=3000)
    #: `vm.extra_free_kbytes` of Android kernels: kswapd wakes this many bytes earlier. Given by a watermark scale factor of equal size.
    extra_free: int = Field(default=0, ge=0)
    #: The most that a read of a file reads ahead, in bytes.
    read_ahead: int = Field(default=128 << 10, ge=0)
    #: Percent of memory that may be dirty before the flusher, and before the writer itself, writes back.
    dirty_background_ratio: int = Field(default=10, ge=0, le=100)
    dirty_ratio: int = Field(default=20, ge=1, le=100)


class Devices(Strict):
    """`[machine.devices]`: the media behind the guest's block devices, by key or path. Swap and files share the flash."""

    nvm: str = "lpddr2-pcm"
    flash: str = "ufs-3.1"


class Limits(Strict):
    """`[machine.limits]`: cached apps that Android keeps, and apps that run a service in the background."""

    cached: int = Field(default=16, ge=0)
    services: int = Field(default=3, ge=0)


class Machine(Strict):
    """`[machine]`."""

    #: Bytes of the guest's memory, its kernel included.
    dram: int
    kernel: Kernel = Kernel()
    devices: Devices = Devices()
    limits: Limits = Limits()


class Design(Strict):
    """`[[design]]`, crossed and named."""

    name: str
    swap: Spec
    app_policy: Spec = Spec(key="none")
    #: `minfree` or `lmkd` with parameters of `crates/apps`; None: no killer but the kernel's.
    killer: Spec | None = None


class App(Strict):
    """One app: its name and the values of an app file's `set` (crates/app-sim's feature, `work` and `service`)."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,40}$")
    footprint: str = "48MiB"
    file_share: float = Field(default=0.25, ge=0, le=1)
    hot_share: float = Field(default=0.25, ge=0, le=1)
    write_ratio: float = Field(default=0.3, ge=0, le=1)
    compressibility: float = Field(default=0.6, ge=0, le=1)
    launch_set: float = Field(default=0.6, ge=0, le=1)
    resume_set: float = Field(default=0.3, ge=0, le=1)
    hot_first: bool = False
    run: int = Field(default=8, ge=1)
    #: Pages of its own file that each use writes: an app's state and its database.
    saved_pages: int = Field(default=32, ge=0)
    seed: int = 1
    #: Pages of foreground use after each launch.
    work: int = Field(default=2000, ge=0)
    service: bool = False

    @property
    def pages(self) -> int:
        """Pages of the footprint."""
        return size_bytes(f"app {self.name}: footprint", self.footprint) // 4096


class Launches(Strict):
    """`[workload] launches`: the apps of one round in order, and how often."""

    order: list[str]
    rounds: int = Field(default=3, ge=1)
    warm_up: int = Field(default=1, ge=0)
    #: Nanoseconds that an app stays in front after its use.
    foreground_ns: int = Field(default=50_000_000, ge=0)


class VmRun(Strict):
    """`[run] vm`."""

    #: A kernel of `swaplab kernel list`, or the path of an arm64 image.
    kernel: str = "debian-6.12"
    #: Processors. Virtual time is the sum over them: more processors make nothing faster.
    cpus: int = Field(default=1, ge=1, le=8)
    #: Billions of instructions a second that the core stands for: device prices are multiplied by it, times divided.
    gips: float = Field(default=1.0, gt=0, le=64)
    #: Most that a think time is shifted, in ns. A run without shift says nothing of the next think time (docs/models/virtual-time.md).
    shift_ns: int = Field(default=5000, ge=0)
    #: Time between home and the next launch, in ns.
    think_ns: int = Field(default=20_000_000, ge=0)
    #: Memory of a system process that wakes up every `system_period_ns`, with a unit; `0`: none.
    system: str = "24MiB"
    system_period_ns: int = Field(default=100_000_000, gt=0)
    #: Give up after so much virtual time, and after so much time on the host's clock.
    virtual_limit_s: int = Field(default=3600, ge=1)
    wall_limit_s: int = Field(default=1800, ge=1)
    #: Check every page of every living app at the end.
    verify: bool = True
    #: Tracepoints such as `vmscan/mm_vmscan_direct_reclaim_begin`.
    events: list[str] = []
    #: The guest's block devices: our driver, priced by `machine.devices`, or the kernel's null_blk, whose pages are the guest's own.
    block_devices: Literal["driver", "null-blk"] = "driver"


class Request(Strict):
    """One experiment for the world `vm`."""

    name: str
    machine: Machine
    design: list[Design] = Field(min_length=1)
    apps: list[App] = Field(min_length=1)
    launches: Launches
    vm: VmRun = VmRun()
    seed: int = 0
    seeds: int = Field(default=5, ge=1)


class Spread(Strict):
    """A distribution in milliseconds over all launches of all seeds."""

    n: int
    mean: float
    p50: float
    p95: float
    #: 95 % interval of the mean over seeds; None for fewer than two.
    mean_interval: tuple[float, float] | None


class LaunchRow(Strict):
    """One launch or resume: a row of the table `launches`."""

    design: str
    seed: int
    round: int
    warm_up: bool
    app: str
    start: Literal["cold", "resume"]
    at_ns: int
    ready_ns: int
    #: Delay without what kswapd ran meanwhile while the app could have: on a machine with a core to spare the truth lies in between.
    ready_without_kswapd_ns: int
    alive: int
    cpu_user_ns: int
    cpu_system_ns: int
    run_delay_ns: int
    io_wait_ns: int
    memory_wait_ns: int
    minor_faults: int
    major_faults: int
    swap_in_pages: int
    swap_out_pages: int
    anonymous_refaults: int
    file_refaults: int
    scanned_kswapd: int
    scanned_direct: int
    reclaimed_kswapd: int
    reclaimed_direct: int
    direct_reclaims: int
    psi_some_us: int
    psi_full_us: int
    kswapd_ns: int
    free_kb: int
    file_kb: int
    swap_free_kb: int
    pool_bytes: int | None
    oldest_generation_ms: int | None


class KillRow(Strict):
    """One kill: a row of the table `kills`."""

    design: str
    seed: int
    at_ns: int
    app: str
    adjustment: int
    reason: str
    free_kb: int
    file_kb: int
    stall_ms: int
    swap_free_percentage: int
    resident_kb: int


class SeedRow(Strict):
    """Figures of one run."""

    seed: int
    delay_ms: float
    p95_ms: float
    cold: int
    kills: int
    swap_in_bytes: int
    swap_out_bytes: int


class Row(Strict):
    """A design's figures: means over seeds of counts over the rounds that count."""

    world: Literal["vm"] = "vm"
    kind: Literal["virtual"] = "virtual"
    design: str
    swap: str
    app_policy: str
    killer: str | None
    seed: int
    seeds: int
    # memory
    dram_bytes: int
    pool_bytes: float | None
    other_medium_bytes: int
    # paging
    swap_in_bytes: float
    swap_out_bytes: float
    major_faults: float
    file_refaults: float
    anonymous_refaults: float
    direct_reads: float
    file_read_bytes: float
    file_write_bytes: float
    scanned_pages: float
    # time
    wall_ns: float
    cpu_user_ns: float
    cpu_system_ns: float
    kswapd_ns: float
    killer_ns: float
    psi_some_ns: float
    psi_full_ns: float
    # launches
    count: float
    cold: float
    resumes: float
    kills: float
    kill_reasons: dict[str, float]
    delay_ms: Spread | None
    cold_ms: Spread | None
    resume_ms: Spread | None
    # kernel
    bad_pages: int
    checked_apps: int
    #: Counts of /proc/vmstat, and pressure, over the rounds that count.
    counters: dict[str, float]
    by_seed: list[SeedRow]


class Result(Strict):
    """What a request gave. Equal requests give equal results on every host, as long as `versions` are equal."""

    name: str
    request: Request
    #: QEMU, kernel, cpu model, and hashes of all that the guest was made of.
    versions: dict[str, str]
    warnings: list[str]
    rows: list[Row]
    launches: list[LaunchRow]
    kills: list[KillRow]
