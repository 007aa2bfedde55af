"""The experiment and the document as pydantic classes. Generated from the Rust types by tools/generate_model.py: do not edit."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

#: By another name, for classes that have a field `list`.
Many = list


class FileWrites(BaseModel):
    """Transactions of the app in front: each writes to its files and waits for an fsync, whose commit goes through the file system's
    journal. Off by default, because no source says how often an app does this."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    data: str = Field(default="20KiB")
    """Bytes that a transaction writes to files. A transaction of SQLite sends at least 11 writes to storage, over 50 % of writes update
    the journal of EXT4, and 70 % of writes are of 4 KiB (Lee and Won, Smart layers and dumb result, EMSOFT 2012): 5 writes of 4 KiB
    here."""
    every: str = Field(default="0")
    """Time from the end of a transaction to the beginning of the next; 0 for no transactions."""
    journal: str = Field(default="24KiB")
    """Bytes that its fsync writes to the journal: the other 6 of these 11 writes."""


class AppSize(BaseModel):
    """Memory and times of an app of a kind. A share that is not given is that of the table."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    anon: str
    camera: str = Field(default="0")
    """Camera buffers while the app is in front. They are never reclaimed, and are freed in the background."""
    cold: str
    """Processor time of a cold start and of a resume, without faults."""
    file: str
    file_hot_share: int | float | None = Field(default=None)
    graphics: str
    """Graphics memory while the app is in front, which is never reclaimed."""
    resume: str
    resume_share: int | float | None = Field(default=None)
    start_share: int | float | None = Field(default=None)
    """Share of the pages that a cold start uses until the app is ready, at least the hot ones."""
    warm_probability: int | float | None = Field(default=None)
    warm_share: int | float | None = Field(default=None)
    write_share: int | float | None = Field(default=None)


class Shared(BaseModel):
    """A range of pages that several apps share."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    anon: str
    apps: float
    """Share of the apps that map it, starting with the most launched."""
    file: str
    name: str
    system: bool = Field(default=False)
    """Whether a system process such as the zygote maps it too, so that it remains when all apps have ended."""


class AppModels(BaseModel):
    """How apps use memory: sizes by kind, and shares of their pages. All assumed."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    by_name: dict[str, str] = Field(default_factory=dict)
    """Kind of each app by its name, for launches with names. If it is not empty, it must contain every launched app. If it is empty, an
    app has the kind in `models` with the app's name, if there is one."""
    file_hot_share: float = Field(default=0.35)
    """Share of file pages that each start reads. The others are read once, after a cold start."""
    file_writes: FileWrites = Field(default_factory=FileWrites)
    game: AppSize = Field(default_factory=lambda: AppSize(anon="90MiB", camera="0", cold="2500ms", file="50MiB", graphics="50MiB", resume="300ms"))
    graphics_kept: float = Field(default=0.15)
    """Share of its graphics memory that an app keeps in the background."""
    heavy: AppSize = Field(default_factory=lambda: AppSize(anon="60MiB", camera="0", cold="1000ms", file="45MiB", graphics="35MiB", resume="200ms"))
    kinds: str = Field(default="mlllmhlghlhhmlmghlmmglmmlgmlmggmmggl")
    """Kinds of the apps, starting with the most launched app; the list repeats if there are more apps. Either the letters l, m, h and
    g, or names of kinds or workloads (`swaplab list apps`) separated by blanks. Default: the 36 apps of A2S' Table 1 (large), each with
    an assumed kind."""
    lasting_share: float = Field(default=0.73)
    """Share of anonymous pages that are either always or never written when they are used, drawn once per page by the write share. For
    the other pages it is drawn at each use. Measured: of the pages of the three bundled traces that are used in at least two of twenty
    equal windows and written at least once, 69 %, 74 % and 76 % are written in over 70 % of their windows."""
    light: AppSize = Field(default_factory=lambda: AppSize(anon="20MiB", camera="0", cold="400ms", file="18MiB", graphics="25MiB", resume="80ms"))
    medium: AppSize = Field(default_factory=lambda: AppSize(anon="34MiB", camera="0", cold="600ms", file="28MiB", graphics="30MiB", resume="120ms"))
    models: dict[str, AppSize] = Field(default_factory=dict)
    """Custom kinds by name, in addition to the categories of DR.Swap (Zhong et al. 2016, Table III): browser, gaming, multimedia, news,
    shopping, social. File pages of a category are its mean package size; the other values are assumed."""
    resume_share: float = Field(default=0.5)
    """Share of anonymous pages that each resume uses. A cold start writes these before the app is ready, the others afterwards."""
    shared: Many[Shared] = Field(default_factory=list)
    """Pages that several apps share, in addition to those of `system`."""
    spread: float = Field(default=0.2)
    """Sizes of apps are drawn uniformly between (1 - spread) and (1 + spread) times the size of the kind."""
    system: AppSize = Field(default_factory=lambda: AppSize(anon="320MiB", camera="0", cold="0", file="170MiB", graphics="45MiB", resume="0"))
    """System processes, the zygote and shared libraries, which every launch uses."""
    system_hot_share: float = Field(default=0.25)
    system_warm_probability: float = Field(default=0.02)
    system_warm_share: float = Field(default=0.35)
    warm_probability: float = Field(default=0.3)
    warm_share: float = Field(default=0.2)
    """Share of anonymous pages of which a resume uses each with `warm_probability`."""
    write_share: float = Field(default=0.3)
    """Share of a resume's anonymous references that write."""


class StartSpread(BaseModel):
    """Start times of an app: their number, median and 95th percentile in ms."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    n: float = Field(default=0.0)
    p50: float = Field(default=0.0)
    p95: float = Field(default=0.0)


class AppRow(BaseModel):
    """An app; the last row is the system."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    app: str = Field(default="")
    cold_ms: StartSpread | None = Field(default=None)
    direct_reads: float = Field(default=0.0)
    file_read_bytes: float = Field(default=0.0)
    kills: float = Field(default=0.0)
    launches: float = Field(default=0.0)
    rejected_pages: float = Field(default=0.0)
    resume_ms: StartSpread | None = Field(default=None)
    swap_in_bytes: float = Field(default=0.0)
    swap_out_bytes: float = Field(default=0.0)


# A value of an app's `set`.
Setting = str | int | float


class Use(BaseModel):
    """A real program: an included app, an app file, or a command."""

    model_config = ConfigDict(extra="allow", validate_by_name=True, defer_build=True)

    __pydantic_extra__: dict[str, Setting] = Field(init=False)
    command: Many[str] = Field(default_factory=list)
    """A command that is run to its end, instead of `use` (world `memory`)."""
    count: int = Field(default=1, ge=0)
    """Number of instances. They are named NAME-1, NAME-2 and so on, and each has its own seed if the app has a seed."""
    name: str = Field(default="")
    """The name, instead of the one in the app file."""
    use: str = Field(default="")
    """An included app file (`chromium`, `node`, `phone-app`, `python`, `redis`, `sqlite` or `swaplab-app`), or the path of an app file,
    relative to the experiment file."""


# The apps that are launched.
Apps = str | Many[Use] | AppModels


# Which pages of a cached app are paged out.
Compact = Literal["off", "file", "anon", "full", "aosp"]


class Heap(BaseModel):
    """The managed heap of apps and its garbage collections, which happen when the heap has grown. Without allocation there is none.
    `background.gc_every` is a simpler model of collections."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    background_rate: str = Field(default="0")
    """Allocation per second of an app in the background that is not frozen."""
    collect_after: str = Field(default="0")
    """Time after an app leaves the foreground at which its heap is collected; 0 for never."""
    foreground_growth: float = Field(default=1.0)
    """Factor of the free memory while the app is in the foreground (ART: 2; Dalvik: 1)."""
    max_free: str = Field(default="8MiB")
    min_free: str = Field(default="2MiB")
    """`dalvik.vm.heapminfree` and `dalvik.vm.heapmaxfree`: least and most free memory of the heap after a collection."""
    rate: str = Field(default="0")
    """Allocation per second of an app in the foreground; 0 for no managed heap."""
    share: float = Field(default=0.5)
    """Share of an app's anonymous pages that are its managed heap, free memory of the heap included."""
    target_utilization: float = Field(default=0.75)
    """`dalvik.vm.heaptargetutilization`: share of the heap that is live after a collection."""


class Services(BaseModel):
    """Services of apps and native daemons. `limits.services` is the number of apps that have the `oom_score_adj` of a service in the
    background, so that they never become cached apps."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    daemons_every: str = Field(default="0")
    """Interval at which native daemons use memory; 0 for never."""
    daemons_share: float = Field(default=0.0)
    """Share of the system's anonymous pages that daemons use each time, the hottest first."""
    every: str = Field(default="0")
    """Interval at which a running service uses memory; 0 for never."""
    restart: bool = Field(default=False)
    """Whether services restart after a kill of their app (`START_STICKY`)."""
    restart_share: float = Field(default=0.3)
    """Share of its anonymous pages that the process of a restarted service writes, the hottest first."""
    share: float = Field(default=0.0)
    """Share of its app's anonymous pages that a service uses each time, the hottest first."""
    sticky: int = Field(default=0, ge=0)
    """Number of further apps with a service that restarts. They are cached in the background, because they have shown a UI (`cch-
    started-ui-services`), and are drawn at random."""


class Background(BaseModel):
    """Work of apps, services and daemons in addition to launches. All of it is off by default, because no paper publishes it with its
    workload."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    activity_every: str = Field(default="0")
    """Interval between bursts of other activity of an app; 0 for none."""
    activity_share: float = Field(default=0.0)
    """Share of its anonymous pages that a burst uses, the hottest first. The app's write share of them is written."""
    compact: Compact = Field(default="off")
    """Pages of an app that are paged out once it is cached (Android's `CachedAppOptimizer`)."""
    compact_after: str = Field(default="0")
    """Time for which an app is cached before it is compacted."""
    compact_full_delta_rss_throttle_kb: int = Field(default=8000, ge=0)
    """`activity_manager/compact_full_delta_rss_throttle_kb`: `compact = "aosp"` passes over an app whose memory has changed by no more
    since its last compaction."""
    compact_full_rss_throttle_kb: int = Field(default=12000, ge=0)
    """`activity_manager/compact_full_rss_throttle_kb`: `compact = "aosp"` passes over an app with less anonymous memory."""
    freeze_after: str = Field(default="0")
    """Time after which a cached app is frozen and does nothing (Android: 10min); 0 for never. Apps with a service are not frozen."""
    gc_every: str = Field(default="0")
    """Interval between garbage collections of a background app; 0 for none. This is the simpler of two models of collections, at fixed
    times and without a heap that grows; the other is `heap`."""
    gc_share: float = Field(default=0.0)
    """Share of its anonymous pages that a collection reads, the hottest first."""
    heap: Heap = Field(default_factory=Heap)
    services: Services = Field(default_factory=Services)


# The guest's block devices.
BlockDevices = Literal["driver", "null-blk"]


class Calibration(BaseModel):
    """Microbenchmarks of a configuration, and the accuracy of the visit times predicted from them."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    costs_ns: dict[str, int | float | None] = Field(default_factory=dict)
    """Costs by name in ns; null if a cost could not be measured."""
    errors: dict[str, int | float | None] = Field(default_factory=dict)
    """Median error of the prediction in percent, by `launch` and `switch`, and the number of visits."""
    own_ms: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Launch and switch time of each app without memory pressure, in ms."""


class Cdf(BaseModel):
    """Quantiles 0, 0.01 .. 1. Null if there are no values. Entries above the share that ended within the run are null."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    cold_ms: Many[int | float | None] | None = Field(default=None)
    entry_lifetime_s: Many[int | float | None] | None = Field(default=None)
    resume_ms: Many[int | float | None] | None = Field(default=None)


class Classes(BaseModel):
    """Number of launches by perceived delay (Tolia et al. 2006, as in A2S), with upper bounds of 150, 1000, 2000 and 5000 ms."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    annoying: float = Field(default=0.0)
    crisp: float = Field(default=0.0)
    noticeable: float = Field(default=0.0)
    unacceptable: float = Field(default=0.0)
    unusable: float = Field(default=0.0)


class Daily(BaseModel):
    """Rates per day at the launch rate of the run."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    battery_share: int | float | None = Field(default=None)
    """Share of the battery's energy; null if the machine has no battery."""
    direct_reclaim_ms: float = Field(default=0.0)
    flash_write_gib: float = Field(default=0.0)
    joules: float = Field(default=0.0)
    kills: dict[str, float] = Field(default_factory=dict)
    """Kills by class of victim: cached, previous, service, foreground."""
    kswapd_cpu_s: float = Field(default=0.0)


# A key of a registry with parameters: `KEY:name=value,name=value`, or a table `{ key = "KEY", name = value }`.
Spec = str | dict[str, bool | int | float | str | Many[bool | int | float | str]]


# One value or a list of values.
OneOrMany = Spec | Many[Spec]


# Prepaging at the start of an app.
Prepage = Literal["none"] | Literal["asap"]


class Proactive(BaseModel):
    """Proactive reclaim by pressure stall information (TMO, Weiner et al. 2022, Section 3.3)."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    every: str = Field(default="0")
    """Interval between steps; 0 for no proactive reclaim (TMO: 6s)."""
    ratio: float = Field(default=0.0005)
    """Share of the frames in use that a step without stalls reclaims."""
    threshold: float = Field(default=0.001)
    """Share of stalled time from which on nothing is reclaimed."""


class Design(BaseModel):
    """A design, or several if it contains lists."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    app_policy: OneOrMany = Field(default="none")
    """Whose pages may be swapped out: an app policy of `swaplab list app-policies`."""
    killer: OneOrMany | None = Field(default=None)
    """The low-memory killer, instead of `machine.killer`."""
    name: str = Field(default="")
    """The name in results; by default, the values that differ between the designs."""
    policy: OneOrMany = Field(default="system")
    """Which page is reclaimed: a policy of `swaplab list policies`, or `system` for the world's own reclaim (that of the kernel, or the
    model of it in `machine.kernel`)."""
    prepage: Prepage = Field(default="none")
    """Which pages are read at the start of an app before it accesses them."""
    proactive: Proactive | None = Field(default=None)
    """Proactive reclaim, instead of `machine.proactive`."""
    swap: OneOrMany | None = Field(default=None)
    """Where a victim goes: a scheme of `swaplab list schemes`. Only `replay` runs a design without a scheme: swap is then unlimited,
    and each page costs as much as on `run.replay.swap_device`."""


class Devices(BaseModel):
    """Devices by medium."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    dram: str = Field(default="lpddr2")
    flash: str = Field(default="ufs-3.1")
    nvm: str = Field(default="lpddr2-pcm")
    processor: str = Field(default="x86-64")
    """The processor, with the costs of faults and copies."""
    sd_card: str = Field(default="sd-card", alias="sd-card")


class DiskRate(BaseModel):
    """The rate of random page reads or writes at a queue depth."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    depth: int = Field(ge=0)
    operation: str
    pages_per_s: float


class Display(BaseModel):
    """The display, whose frames the app in front draws. A frame is janky if the app's work and its stalls on memory take longer than a
    period."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    frame_work: str = Field(default="0")
    """Time that the app works for a frame, without stalls on memory."""
    refresh_hz: int = Field(default=0, ge=0)
    """Frames per second; 0: frames are not counted."""


class DisplayFigures(BaseModel):
    """Frames of the display while an app was in front, after its launch. Counts are means over seeds."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    frames: float = Field(default=0.0)
    frozen_frames: float = Field(default=0.0)
    """Of these, frames that took more than 700 ms."""
    janky_frames: float = Field(default=0.0)
    """Frames that were too late because the app waited for memory."""
    janky_share: int | float | None = Field(default=None)
    """Share of frames that were janky; null if none was drawn."""


class Draw(BaseModel):
    """Launches drawn by popularity 1 / rank^alpha, where the rank is the position in the list of apps. No app is launched twice in a
    row (A2S, Table 1)."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    alpha: float
    launches: int = Field(ge=0)
    seed: int = Field(default=1, ge=0)


class Energy(BaseModel):
    """Energy in joules."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    parts_j: dict[str, int | float | None] = Field(default_factory=dict)
    """Energy by part; null if a device's energy is unknown."""
    total_j: int | float | None = Field(default=None)
    """Sum of the known parts."""


# How a storage device schedules a read that arrives while it writes. docs/models/queue.md has the details.
IoOrder = Literal["noop", "cfq-like", "row-like", "mq-deadline-like", "reads-first"]


# The core on which kswapd runs, on a machine with several.
KswapdCore = Literal["own", "little", "app"]


class KernelSettings(BaseModel):
    """The kernel's memory settings, with the kernel's names if it has them."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    access_fault_ns: int = Field(default=0, ge=0)
    """Processor time of the fault by which an app uses a page whose accessed bit reclaim has cleared, in ns; 0: the processor sets the
    bit itself, as those of today's phones do."""
    anon_out_ns: int = Field(default=0, ge=0)
    """Processor time of reclaim to unmap an anonymous page and give it a slot, besides its scan and its copy, in ns."""
    exit_ns: int = Field(default=0, ge=0)
    """Time that a killed process takes for each of its pages, in memory or in swap, until all of its memory is free, in ns; 0: at
    once."""
    extra_free: str = Field(default="0")
    """`vm.extra_free_kbytes` of Android kernels."""
    file_in_ns: int = Field(default=0, ge=0)
    """Processor time to allocate and map a page of a file that is read again, in ns. That of a first read is part of the app's own
    work."""
    file_out_ns: int = Field(default=0, ge=0)
    """Processor time of reclaim to unmap and drop a page of a file, besides its scan, in ns."""
    io_order: IoOrder = Field(default="reads-first")
    """How storage schedules reads and writes."""
    kswapd_core: KswapdCore = Field(default="own")
    little_power: float = Field(default=0.051)
    """Power of a busy little core, relative to that of the app's core. The default is that of a Pixel 6 at full clock, from the same
    file: coefficient times frequency times the square of the voltage, 70 x 1803 MHz x 0.90625 V squared against 650 x 2802 MHz x
    1.05625 V squared."""
    little_speed: float = Field(default=0.157)
    """Speed of a little core relative to the app's. The default is that of a Pixel 6: 250 DMIPS/MHz at 1803 MHz (Cortex-A55) against
    1024 at 2802 MHz (Cortex-X1), Linux, arch/arm64/boot/dts/exynos/google/gs101.dtsi."""
    max_request: str | None = Field(default=None)
    """Maximum size of a storage request, up to which writes of adjacent pages are merged; by default that of the scheme."""
    mthp: str | None = Field(default=None)
    """Size of large folios of anonymous memory (mTHP), which are allocated, swapped out and, from zram, swapped in as one. By default
    there are none."""
    page_cluster: int | None = Field(default=None, ge=0)
    """`vm.page-cluster`: a swap-in reads 2^n pages; by default that of the measured machine or of the scheme."""
    policy: Spec = Field(default="active-inactive")
    """The page policy that models this kernel's reclaim in simulated worlds."""
    read_ahead: str = Field(default="128KiB")
    """Maximum readahead of file reads."""
    scan_ns: int = Field(default=200, ge=0)
    """Processor time of kswapd for each page that it scans, in ns (assumed)."""
    swappiness: int | None = Field(default=None, ge=0)
    """`vm.swappiness`, 0 to 200; by default that of the measured machine or of the policy."""
    write_back_holds_frames: bool = Field(default=True)
    """Whether a page keeps its frame until its write-back is done (mm/vmscan.c, `shrink_folio_list`). False: reclaim frees the frame at
    once, and a task in direct reclaim waits for its own writes."""


class Limits(BaseModel):
    """Android's limits on live apps."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    cached: int | None = Field(default=None, ge=0)
    """Maximum number of cached apps without a service (A2S, Section 5.3: 16); by default no limit."""
    services: int = Field(default=0, ge=0)
    """Number of apps that run a service in the background (A2S, Section 5.3: 3). They are drawn at random."""


class Machine(BaseModel):
    """The machine that designs run on."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    background: Background = Field(default_factory=Background)
    base: str = Field(default="plain")
    """A preset of `swaplab list machines`; the keys below override it."""
    battery_wh: float = Field(default=0.0)
    """Energy of the battery in Wh, to which the energy per day is compared; 0 for no battery."""
    cores: int = Field(default=4, ge=0)
    """Processors of the simulated phone. With one, background reclaim and the launched app share it; with more, they run in
    parallel."""
    devices: Devices = Field(default_factory=Devices)
    """Devices by medium: keys of `swaplab list devices`, or paths of device files."""
    display: Display = Field(default_factory=Display)
    dram: str | None = Field(default=None)
    """Memory of the machine (`phone`, `vm`), of the control group (`kernel`) or of each process (`memory`). In `replay` it may be in
    percent of the trace's footprint."""
    firmware: str = Field(default="0")
    """Part of `dram` that is reserved for firmware and modem."""
    kernel: KernelSettings = Field(default_factory=KernelSettings)
    kernel_reserved: str = Field(default="0")
    """Part of `dram` that the kernel itself uses and never reclaims."""
    killer: Spec = Field(default="off")
    """The low-memory killer of designs without their own; `off` for none."""
    limits: Limits = Field(default_factory=Limits)
    page_size: str = Field(default="4KiB")
    """Page size: 4KiB or 16KiB."""
    pool_in_dram: bool = Field(default=False)
    """Whether compressed pages take frames of `dram`, as zsmalloc does. False: they take additional memory, because a control group is
    not charged for zram's pool."""
    proactive: Proactive = Field(default_factory=Proactive)


PoolMemory = Literal["extra", "within"]


class KernelRun(BaseModel):
    """Settings of the world `kernel`."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    calibrate: bool = Field(default=True)
    """Whether to run microbenchmarks first and report how well they predict this run."""
    events: bool = Field(default=False)
    """Whether to record the kernel's swap and block events of each configuration."""
    pool: PoolMemory = Field(default="extra")
    """Whether the memory of a swap area (a RAM disk, zram's pool) is part of `machine.dram`."""
    target: str = Field(default="local")
    """`local`, `ssh:HOST`, `adb` or `adb:SERIAL`."""
    user: str = Field(default="")
    """The user that runs the apps; empty for the calling user, or `nobody` if that is root."""


Unmanaged = Literal["refuse", "warn"]


class MemoryRun(BaseModel):
    """Settings of the world `memory` (the pager)."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    flash: str = Field(default="")
    """Directory of the flash file; empty for `/var/tmp`."""
    medium: str = Field(default="plain")
    """Medium that DRAM emulates: `plain` for no emulation, or a device whose latency is injected."""
    nvm: str = Field(default="")
    """Location of NVM: a directory of a tmpfs, `node:N`, or empty for ordinary memory that stands in for NVM."""
    unmanaged: Unmanaged = Field(default="refuse")
    """What to do with a program whose memory the pager cannot manage."""


FirstTouch = Literal["charged", "zero-fill"]


Mapping = Literal["follow", "ignore"]


class ReplayRun(BaseModel):
    """Settings of the world `replay`."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    first_touch: FirstTouch | None = Field(default=None)
    """The cost of the first touch of an anonymous page: by default nothing in designs with a scheme, otherwise a swap read."""
    length: str | None = Field(default=None)
    """Length of the run, for idle energy and yearly wear."""
    mapping: Mapping = Field(default="follow")
    """Whether unmap and discard events free pages."""
    signal: str = Field(default="exact")
    """The signal that policies get of hits: `exact`, `reference-bit:REFERENCES` or `fault-only`."""
    swap_device: str | None = Field(default=None)
    """Device of the unlimited swap area of designs without a scheme, by default `optane-m10`. The swap area of a scheme is on the
    device of its medium (`machine.devices`)."""


# What `machine.dram` limits in a guest.
VmLimit = Literal["guest", "group"]


class VmRun(BaseModel):
    """Settings of the world `vm`."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    app_groups: bool | None = Field(default=None)
    """Whether each app has its own memory control group, as on Android with `per_app_memcg`, so that reclaim visits them in turn. By
    default only if the app policy of any design forbids swap-outs per app; all designs have the same value."""
    block_devices: BlockDevices = Field(default="driver")
    count_reads: str | None = Field(default=None)
    """Count the loads of apps from NVM that is mapped in place, outside the guest and without an effect on the run: the size of the
    cache of 64-byte lines that the loads go through, such as `512KiB`. By default they are not counted, which takes less of the host's
    time."""
    cpus: int = Field(default=1, ge=0)
    """Processors of the guest. Virtual time is the sum over them, so more processors make nothing faster."""
    dirty_background_ratio: int = Field(default=10, ge=0)
    """Percent of memory that may be dirty before the flusher starts write-back, and before the writing task does."""
    dirty_ratio: int = Field(default=20, ge=0)
    events: Many[str] = Field(default_factory=list)
    """Tracepoints to record, such as `vmscan/mm_vmscan_direct_reclaim_begin`."""
    gips: float = Field(default=1.0)
    """Speed of the modeled core in billions of instructions per second. Device times are multiplied by it, resulting times divided."""
    kernel: str = Field(default="debian-6.12")
    """A kernel of `swaplab kernel list`, or the path of an arm64 image."""
    limit: VmLimit | None = Field(default=None)
    """What `machine.dram` limits. By default the guest, or the apps' control group below 192 MiB, the minimum for a guest with its
    kernel."""
    mglru: bool = Field(default=True)
    """Whether multi-generational LRU is enabled, as in Android's kernels since 6.1."""
    samples: bool = Field(default=False)
    """Write samples of memory, as a loop of shell commands takes them on a phone, into the run folder (`DESIGN-NUMBER.samples`, which
    `swaplab trace fit phone` reads): before each visit and while its app is in front. They take time of the guest's processor."""
    shift: str = Field(default="5us")
    """Upper bound of the time by which each pause between two launches (`think`) is lengthened at random, so that seeds differ."""
    system: str = Field(default="24MiB")
    """Memory of a process that stands in for the system's processes and uses it every `system_period`; `0` for none."""
    system_period: str = Field(default="1s")
    think: str = Field(default="3s")
    """Time from the return to the home screen to the next launch. Linux 6.12 decides by list lengths that are up to two seconds old, so
    after a shorter time it does not see the pages that the last launch moved."""
    verify: bool = Field(default=True)
    """Whether every live app checks the content of all its pages at the end."""
    virtual_limit: str = Field(default="3600s")
    """Limits after which the guest is ended: of virtual time, and of time of the host's clock."""
    wall_limit: str = Field(default="1800s")
    watermark_scale_factor: int | None = Field(default=None, ge=0)
    """`vm.watermark_scale_factor` in ten thousandths of memory; by default it is derived from `machine.kernel.extra_free`."""


class Run(BaseModel):
    """Worlds and seeds of the runs."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    kernel: KernelRun = Field(default_factory=KernelRun)
    memory: MemoryRun = Field(default_factory=MemoryRun)
    on: Many[str] = Field(default_factory=list)
    """Worlds of `swaplab list worlds`; by default `replay` for a trace, `phone` for launches, `memory` for apps without launches."""
    replay: ReplayRun = Field(default_factory=ReplayRun)
    seed: int = Field(default=0, ge=0)
    """First seed of all random draws."""
    seeds: int | None = Field(default=None, ge=0)
    """Number of runs, with seeds from `seed` on. Default: 8 for phone, 5 perturbations for vm, 3 repetitions for kernel, 1 for replay
    and memory."""
    vm: VmRun = Field(default_factory=VmRun)


# A value of a key that is varied.
Scalar = bool | int | float | str


class Range(BaseModel):
    """Numbers from `low` to `high`, both included."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    high: float
    log: bool = Field(default=False)
    """Whether values are spaced by equal ratios instead of equal differences."""
    low: float
    steps: int = Field(default=5, ge=0)
    """Number of values in the range for combinations. A random draw may be any value in the range."""
    unit: str = Field(default="")
    """Unit that is appended to each number, such as `%` or `MiB`; without a unit, values are numbers."""


# The values of one key.
Values = Many[Scalar] | Range


class Vary(BaseModel):
    """The points to run: by default every combination of the values of the keys."""

    model_config = ConfigDict(extra="allow", validate_by_name=True, defer_build=True)

    __pydantic_extra__: dict[str, Values] = Field(init=False)
    list: Many[dict[str, Scalar]] = Field(default_factory=list)
    """A list of points instead of keys: each entry gives the values of its keys at a point."""
    points: int | None = Field(default=None, ge=0)
    """Draw this number of points at random instead of running every combination. Each key is drawn independently and uniformly."""


RoundRobin = Literal["round-robin"]


# The order of launches in a round.
Order = RoundRobin | Many[str] | Draw


class LaunchTable(BaseModel):
    """Launches of the listed apps in rounds."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    foreground: str = Field(default="50ms")
    """Time that an app stays in front after its launch."""
    order: Order = Field(default="round-robin")
    """The apps of one round."""
    rounds: int = Field(default=3, ge=0)
    warm_up: int = Field(default=1, ge=0)
    """Number of rounds before the first counted one."""


# The sequence of launches.
Launches = str | LaunchTable


class Reading(BaseModel):
    """Options for the import of a trace."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    data_read_class: str | None = Field(default=None)
    """Class of pages that are only read as data and whose class is unknown: `anonymous` or `file`."""
    filefrag: str | None = Field(default=None)
    """Block traces: the extents of a swap file, as `filefrag -v` prints them."""
    filter: int | None = Field(default=None, ge=0)
    """Number of entries of the LRU filter whose hits were dropped at capture; by default taken from the file's name."""
    format: str | None = Field(default=None)
    """A key of `swaplab list formats`; by default, the format is detected."""
    page_size: int | None = Field(default=None, ge=0)
    """Page size in bytes if the trace does not give it."""
    pages: str | None = Field(default=None)
    """Page table of the trace (format `pgcsv`)."""
    ranges: str | None = Field(default=None)
    """Block traces: a file of named ranges of sectors."""


class Workload(BaseModel):
    """One workload of each kind. Each world uses the kind that it needs."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    apps: Apps | None = Field(default=None)
    """The apps: a preset (`assumed-2014`), the path of a fitted file, a table of app models, or a list of real programs."""
    launches: Launches | None = Field(default=None)
    """The sequence of launches: a generator (`zipf:apps=50,alpha=1.45`) or preset of `swaplab list launches`, the path of a trace of
    launches, or a table with an order."""
    reading: Reading = Field(default_factory=Reading)
    """How to read `trace` if the file does not say."""
    trace: str | None = Field(default=None)
    """The path of a page trace (`.slt` or importable), relative to the experiment file, or an address such as
    `s3://bucket/trace.slt`."""


class Experiment(BaseModel):
    """An experiment: designs of swap, the machine and the workload that they run on, the worlds that run them, and the varied keys."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    about: str = Field(default="")
    """The question of the experiment, in a sentence."""
    design: Many[Design] = Field(default_factory=list)
    machine: Machine = Field(default_factory=Machine)
    name: str = Field(default="")
    """The name in reports; by default, the name of the file."""
    run: Run = Field(default_factory=Run)
    vary: Vary | None = Field(default=None)
    workload: Workload = Field(default_factory=Workload)


class GaugeSample(BaseModel):
    """A policy's own figures at one reference."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    reference: int = Field(default=0, ge=0)
    values: Many[float] = Field(default_factory=list)


class Host(BaseModel):
    """The machine on which figures were measured."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    disk: str | None = Field(default=None)
    """The disk with the swap area and the apps' files."""
    disk_rates: Many[DiskRate] = Field(default_factory=list)
    """Pages per second of that disk by operation and queue depth, measured by calibration."""
    facts: dict[str, str] = Field(default_factory=dict)
    """Other properties, such as versions of QEMU and of the guest's kernel."""
    kernel: str = Field(default="")
    memory_bytes: int = Field(default=0, ge=0)
    processor: str = Field(default="")
    processors: int = Field(default=0, ge=0)
    target: str = Field(default="")
    """`local`, or the other machine: `ssh:HOST` or `adb:SERIAL`."""
    user: str = Field(default="")
    """The user that ran the apps."""


class TraceFacts(BaseModel):
    """Properties of a page trace."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    footprint_pages: int = Field(default=0, ge=0)
    """Distinct pages that are referenced."""
    page_bytes: int = Field(default=0, ge=0)
    raw_references: int | None = Field(default=None, ge=0)
    """References of the program before any filter; null if the trace does not say."""
    references: int = Field(default=0, ge=0)
    valid_from_frames: int = Field(default=0, ge=0)
    """The smallest number of frames for which a replay of the filtered trace is valid; 0 for no limit."""


class Input(BaseModel):
    """A file that a run has read."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    content_hash: str = Field(default="")
    """SHA-256 of the content."""
    kind: str = Field(default="")
    """`trace`, `launches`, `apps`, `app`, `device`, `policy` or `kernel`."""
    name: str = Field(default="")
    """The name of the input: for a trace the name that it contains, otherwise the file's name."""
    path: str = Field(default="")
    trace: TraceFacts | None = Field(default=None)
    """Properties of a page trace; null for other inputs."""


class Spread(BaseModel):
    """A distribution of times in milliseconds, over all launches of all seeds."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    mean: float = Field(default=0.0)
    mean_interval: tuple[float, float] | None = Field(default=None)
    """95 % confidence intervals, clustered by user (phone), seed (vm) or app (kernel); null if n is 1."""
    n: int = Field(default=0, ge=0)
    p50: float = Field(default=0.0)
    p50_interval: tuple[float, float] | None = Field(default=None)
    p95: float = Field(default=0.0)
    p95_interval: tuple[float, float] | None = Field(default=None)


class MappedReads(BaseModel):
    """Loads of apps from NVM that is mapped in place, counted outside the guest (`run.vm.count_reads`). The run's times do not include
    their latency. Counts are means over seeds of the rounds after the warm-up."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    cache_bytes: int = Field(default=0, ge=0)
    """Size of the direct-mapped cache of 64-byte lines that the loads go through."""
    delay_ms: Spread | None = Field(default=None)
    """The launch delays of the row, each with the price of its visit's misses."""
    line_ns: float = Field(default=0.0)
    """Price of a line that is not in the cache."""
    loads: float = Field(default=0.0)
    misses: float = Field(default=0.0)
    visit_misses: float = Field(default=0.0)
    """Misses from the start of a visit to its record: of the launch, and of the app's work that follows."""


class KernelDetail(BaseModel):
    """Details of a real kernel, measured or virtual."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    apps: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Memory of each live app at the end in bytes, by kind of memory (`smaps_rollup`)."""
    bad_pages: int = Field(default=0, ge=0)
    """Number of pages with wrong content in the check at the end, and the number of apps checked. Wrong content is a bug of the kernel
    or of swaplab."""
    by_app_ms: dict[str, float] = Field(default_factory=dict)
    """Median delay of each app in ms."""
    calibration: Calibration | None = Field(default=None)
    checked_apps: int = Field(default=0, ge=0)
    counters: dict[str, float] = Field(default_factory=dict)
    """Kernel counters over the counted rounds (without warm-up), as means over repetitions."""
    events: dict[str, float] = Field(default_factory=dict)
    """Kernel events counted, by name."""
    mapped_reads: MappedReads | None = Field(default=None)
    others_swapping: bool = Field(default=False)
    """Whether other processes on the machine swapped during the run, so that machine-wide counts include theirs."""
    outliers_ms: Many[float] = Field(default_factory=list)
    """Delays beyond three interquartile ranges. They are reported but not excluded."""
    psi_scope: str = Field(default="")
    """The scope of the PSI values: the control group or the machine."""
    swap_size_bytes: int = Field(default=0, ge=0)
    throttle: dict[str, float] = Field(default_factory=dict)
    """Throttling of a disk to the speed of a card: the requested and the achieved rates."""


# How figures were obtained. A chart with several kinds marks each.
Kind = Literal["simulated", "virtual", "measured", "emulated"]


class LargeFolios(BaseModel):
    """Large folios of anonymous memory: allocated, swapped out and swapped in as one, and how often this failed."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    allocated: float = Field(default=0.0)
    allocation_fallbacks: float = Field(default=0.0)
    """First touches that got a single page, because memory was low."""
    swap_in_fallbacks: float = Field(default=0.0)
    """Swap-ins of a single page of a folio, because memory was low."""
    swap_out_fallbacks: float = Field(default=0.0)
    """Folios that were split, because swap had no adjacent slots for them."""
    swapped_in: float = Field(default=0.0)
    swapped_out: float = Field(default=0.0)
    unused_pages: float = Field(default=0.0)
    """Pages that were swapped in with another page and evicted again without having been used."""


class LaunchFigures(BaseModel):
    """Figures of launches. Counts are means over seeds."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    cold: float = Field(default=0.0)
    cold_ms: Spread | None = Field(default=None)
    """Delay of cold starts, delay of resumes, and the stalled part of all delays."""
    count: float = Field(default=0.0)
    delay_ms: Spread | None = Field(default=None)
    """Delay of all launches, from the request until the app is ready."""
    kill_reasons: dict[str, float] = Field(default_factory=dict)
    """Kills by reason, such as `low-memory`, `cached-limit`, `out-of-memory`."""
    kills: float = Field(default=0.0)
    """Apps killed, for any reason."""
    resume_ms: Spread | None = Field(default=None)
    resumes: float = Field(default=0.0)
    stall_ms: Spread | None = Field(default=None)
    ux: Classes = Field(default_factory=Classes)


class Lifetimes(BaseModel):
    """Lifetimes of swap entries in seconds: from the write to the end of the owner (A2S, Section 3)."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    below: dict[str, int | float | None] = Field(default_factory=dict)
    never: int | float | None = Field(default=None)
    """Share of entries whose owner lived to the end of the run."""
    p10: int | float | None = Field(default=None)
    """Quantiles of the lifetimes that ended within the run."""
    p50: int | float | None = Field(default=None)
    p90: int | float | None = Field(default=None)


class Wear(BaseModel):
    """Wear of a medium under perfect wear leveling."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    capacity_bytes: float = Field(default=0.0)
    cycles: float = Field(default=0.0)
    """Program cycles per cell."""
    cycles_per_day: int | float | None = Field(default=None)
    """Program cycles per cell and day, if the length of the run is known."""
    endurance_cycles: float = Field(default=0.0)
    years_to_endurance: int | float | None = Field(default=None)


class MediumUse(BaseModel):
    """Traffic, energy and wear of a medium."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    background_j: int | float | None = Field(default=None)
    """Idle energy, if the length of the run is known."""
    busy_ns: float = Field(default=0.0)
    device: str = Field(default="")
    read_bytes: float = Field(default=0.0)
    read_j: int | float | None = Field(default=None)
    reads: float = Field(default=0.0)
    wear: Wear | None = Field(default=None)
    write_bytes: float = Field(default=0.0)
    write_j: int | float | None = Field(default=None)
    writes: float = Field(default=0.0)


class Memory(BaseModel):
    """Peak memory of the design, so that designs can be compared at equal memory."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    dram_bytes: int | float | None = Field(default=None)
    """DRAM for pages: the frames, or the limit of the control group."""
    flash_bytes: int | float | None = Field(default=None)
    metadata_bytes: int | float | None = Field(default=None)
    """DRAM for the scheme's tables."""
    nvm_bytes: int | float | None = Field(default=None)
    other_medium_bytes: int | float | None = Field(default=None)
    """NVM and flash that the swap area used."""
    pool_bytes: int | float | None = Field(default=None)
    """Additional DRAM for compressed pages or a RAM disk; 0 if the pool takes frames of `dram_bytes`."""
    pool_peak_bytes: int | float | None = Field(default=None)
    """Peak size of the pool, whether in additional DRAM or in frames."""
    total_dram_bytes: int | float | None = Field(default=None)
    """All DRAM: pages, additional pool, tables."""


class MemoryDetail(BaseModel):
    """Details of a real program under the pager: its statistics as `exec --stats` writes them."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    exit_code: int | None = Field(default=None)
    processes: int = Field(default=0, ge=0)
    stats: dict[str, float] = Field(default_factory=dict)
    """The pager's counters, summed over processes; of peaks, the maximum."""


class Paging(BaseModel):
    """Page traffic."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    anon_refaults: int | float | None = Field(default=None)
    copied_pages: int | float | None = Field(default=None)
    """Pages copied from swap by a fault."""
    direct_reads: int | float | None = Field(default=None)
    """Faults served by mapping the page in place."""
    faults: int | float | None = Field(default=None)
    """References to pages that were not in memory."""
    file_read_bytes: int | float | None = Field(default=None)
    file_reads: int | float | None = Field(default=None)
    file_refaults: int | float | None = Field(default=None)
    file_write_bytes: int | float | None = Field(default=None)
    file_writes: int | float | None = Field(default=None)
    flash_write_bytes: int | float | None = Field(default=None)
    major_faults: int | float | None = Field(default=None)
    mapped_references: int | float | None = Field(default=None)
    """References to pages mapped in place."""
    nvm_write_bytes: int | float | None = Field(default=None)
    promotions: int | float | None = Field(default=None)
    """Mapped pages that were copied to DRAM by a write."""
    read_ahead_pages: int | float | None = Field(default=None)
    reclaimed_direct_pages: int | float | None = Field(default=None)
    reclaimed_pages: int | float | None = Field(default=None)
    """Pages reclaimed by background and direct reclaim together, and by direct reclaim alone."""
    refaults: int | float | None = Field(default=None)
    """Faults of pages that had been in memory before."""
    references: int | float | None = Field(default=None)
    rejected_pages: int | float | None = Field(default=None)
    """Pages that the app policy did not allow to be swapped out."""
    scanned_pages: int | float | None = Field(default=None)
    """Pages that reclaim scanned; for a kernel and for the phone, without active pages."""
    swap_full: int | float | None = Field(default=None)
    """Swap-outs that found swap full."""
    swap_in_bytes: int | float | None = Field(default=None)
    """Bytes copied from swap, including readahead, without Direct Reads."""
    swap_out_bytes: int | float | None = Field(default=None)
    swap_reads: int | float | None = Field(default=None)
    swap_writes: int | float | None = Field(default=None)
    unchanged_pages: int | float | None = Field(default=None)
    """Clean pages whose swap slot was still valid: no write."""
    zero_fills: int | float | None = Field(default=None)


class TimelineKill(BaseModel):
    """"""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    adjustment: int = Field(default=0, ge=0)
    app: str = Field(default="")
    at_s: float = Field(default=0.0)
    freed_mib: float = Field(default=0.0)
    reason: str = Field(default="")


class Timeline(BaseModel):
    """Memory over time in MiB, with times in seconds. All columns have the same length."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    apps_mib: Many[float] = Field(default_factory=list)
    at_s: Many[float] = Field(default_factory=list)
    file_mib: Many[float] = Field(default_factory=list)
    free_mib: Many[float] = Field(default_factory=list)
    graphics_mib: Many[float] = Field(default_factory=list)
    kernel_mib: Many[float] = Field(default_factory=list)
    kills: Many[TimelineKill] = Field(default_factory=list)
    live: Many[float] = Field(default_factory=list)
    pool_mib: Many[float] = Field(default_factory=list)
    seed: int = Field(default=0, ge=0)
    swap_mib: Many[float] = Field(default_factory=list)
    system_mib: Many[float] = Field(default_factory=list)


class PhoneDetail(BaseModel):
    """Details of the simulated phone."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    apps: Many[AppRow] = Field(default_factory=list)
    cdf: Cdf = Field(default_factory=Cdf)
    daily: Daily = Field(default_factory=Daily)
    entry_lifetime_s: Lifetimes = Field(default_factory=Lifetimes)
    large_folios: LargeFolios | None = Field(default=None)
    """Large folios (mTHP), as means over the runs; null if the machine has none."""
    memory_was_tight: bool = Field(default=False)
    """Whether memory was ever tight: reclaim ran or an app was killed."""
    premise_built: bool = Field(default=False)
    """Whether the launches were drawn independently by popularity, which is A2S' own assumption."""
    queue_waits_ms: dict[str, float] = Field(default_factory=dict)
    """Time in ms that all launches of a run waited in the queues of devices for requests of others, by sender: swap-out, journal,
    garbage-collection. Means over the runs. The table `queue_waits` has the owner of each page."""
    scheme_gauges: dict[str, float] = Field(default_factory=dict)
    timeline: Timeline = Field(default_factory=Timeline)
    """Memory over time of the first seed."""
    wasted_write_ratio: int | float | None = Field(default=None)
    """Share of swap entries that were never read."""


class ReplayDetail(BaseModel):
    """Details of a replayed trace."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    file_read_ns: int = Field(default=0, ge=0)
    file_write_ns: int = Field(default=0, ge=0)
    filter_limited: bool = Field(default=False)
    """Whether there are fewer frames than the trace's filter requires."""
    first_touch: str = Field(default="")
    frames: int = Field(default=0, ge=0)
    gauges: Many[str] = Field(default_factory=list)
    """Names of the policy's own figures, and samples of them over the trace."""
    scheme_gauges: dict[str, float] = Field(default_factory=dict)
    """The scheme's own figures at the end."""
    series: Many[GaugeSample] = Field(default_factory=list)
    swap_read_ns: int = Field(default=0, ge=0)
    """Costs of a page operation in ns: swap read and write, file read and write."""
    swap_write_ns: int = Field(default=0, ge=0)


class SeedRow(BaseModel):
    """Figures of a single seed."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    figures: dict[str, float] = Field(default_factory=dict)
    """Figures by their path in the row, such as `launches.resumes`."""
    seed: int = Field(default=0, ge=0)


class Time(BaseModel):
    """Times."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    cpu_swap_ns: int | float | None = Field(default=None)
    """Processor time of swap: copies, compression, mapping."""
    cpu_system_ns: int | float | None = Field(default=None)
    cpu_user_ns: int | float | None = Field(default=None)
    direct_reclaim_ns: int | float | None = Field(default=None)
    file_read_ns: int | float | None = Field(default=None)
    file_write_ns: int | float | None = Field(default=None)
    io_ns: int | float | None = Field(default=None)
    """Busy time of devices for swap and files."""
    kswapd_ns: int | float | None = Field(default=None)
    psi_full_ns: int | float | None = Field(default=None)
    psi_some_ns: int | float | None = Field(default=None)
    """PSI totals: time in which some, and all, tasks stalled on memory."""
    stall_ns: int | float | None = Field(default=None)
    """Stall time of tasks that waited for memory."""
    swap_read_ns: int | float | None = Field(default=None)
    swap_write_ns: int | float | None = Field(default=None)
    wall_ns: int | float | None = Field(default=None)
    """Length of the run."""


class Row(BaseModel):
    """A design in a world at a point under a workload."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    app_policy: str
    by_seed: Many[SeedRow]
    """Figures of each seed, in order; empty for one run."""
    design: str
    """Name of the design. `policy`, `swap`, `app_policy` and `killer` are as written in it."""
    display: DisplayFigures | None = Field(default=None)
    """Null in worlds that draw nothing, and on a machine without a display."""
    energy: Energy | None = Field(default=None)
    interval: dict[str, tuple[float, float]]
    """95 % confidence intervals of figures by their path in the row, such as `launches.delay_ms.mean`; empty if n is 1."""
    invalid: str | None = Field(default=None)
    """Why the row's figures are invalid; null if they are valid."""
    kernel: KernelDetail | None = Field(default=None)
    """Details of the worlds `kernel` and `vm`."""
    killer: str | None = Field(default=None)
    kind: Kind
    launches: LaunchFigures | None = Field(default=None)
    machine: str
    """Preset of the machine."""
    media: dict[str, MediumUse]
    """Traffic, energy and wear by medium."""
    memory: Memory
    paging: Paging
    phone: PhoneDetail | None = Field(default=None)
    point: dict[str, Scalar]
    """The values that vary at this point, by key."""
    policy: str
    program: MemoryDetail | None = Field(default=None)
    replay: ReplayDetail | None = Field(default=None)
    seed: int = Field(ge=0)
    """First seed, and number of runs that are averaged."""
    seeds: int = Field(ge=0)
    swap: str | None = Field(default=None)
    time: Time
    workload: str
    """The trace, launches or apps."""
    world: str


class Document(BaseModel):
    """The result of a run of an experiment."""

    model_config = ConfigDict(extra="forbid", validate_by_name=True, defer_build=True)

    experiment: Experiment
    """The experiment as it was run: presets, options and defaults filled in, designs crossed and named."""
    inputs: Many[Input]
    """The files that the run has read."""
    machine: Host | None = Field(default=None)
    """The machine on which figures were measured; null if nothing was measured."""
    name: str
    """The name of the run in reports."""
    rows: Many[Row]
    schema_version: int = Field(ge=0, alias="schema")
    """Version of the document's schema. Readers refuse other versions."""
    tables: Many[str]
    """Names of the parquet tables in the folder of the document."""
    versions: dict[str, str]
    """Versions of swaplab and of software that the figures depend on."""
    warnings: Many[str]
    """Caveats that a reader must know before using the figures, one sentence each."""
