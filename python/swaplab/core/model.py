"""The experiment and the document as pydantic classes. Generated from the Rust types by tools/generate_model.py: do not edit."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

#: By another name, for classes that have a field `list`.
Many = list


class AppSize(BaseModel):
    """What an app of one kind takes. Where a share is left out, that of the whole table holds."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    anon: str
    camera: str = Field(default="0")
    """Camera buffers: held while the app is in front, never reclaimed, none of it kept in the background."""
    cold: str
    """Processor time of a cold start and of a resume, without faults."""
    file: str
    file_hot_share: int | float | None = Field(default=None)
    graphics: str
    """Held by the GPU while the app is in front, never reclaimed."""
    resume: str
    resume_share: int | float | None = Field(default=None)
    warm_probability: int | float | None = Field(default=None)
    warm_share: int | float | None = Field(default=None)
    write_share: int | float | None = Field(default=None)


class Shared(BaseModel):
    """One range of pages that several apps own."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    anon: str
    apps: float
    """Share of the apps that map it, the most launched first."""
    file: str
    name: str
    system: bool = Field(default=False)
    """A system process such as the zygote owns it, too, so that it outlives all apps."""


class AppModels(BaseModel):
    """How apps use memory: sizes by kind, and shares of their pages. All assumed."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    by_name: dict[str, str] = Field(default_factory=dict)
    """Kinds by app's name, where launches have names. If it is not empty, it must have each app that is launched; if it is, an app is
    of the model of its name, where there is one."""
    file_hot_share: float = Field(default=0.35)
    """Share of file pages that each start reads; the others are read once, after a cold start."""
    game: AppSize = Field(default_factory=lambda: AppSize(anon="90MiB", camera="0", cold="2500ms", file="50MiB", graphics="50MiB", resume="300ms"))
    graphics_kept: float = Field(default=0.15)
    """Share of its graphics that an app keeps in the background."""
    heavy: AppSize = Field(default_factory=lambda: AppSize(anon="60MiB", camera="0", cold="1000ms", file="45MiB", graphics="35MiB", resume="200ms"))
    kinds: str = Field(default="mlllmhlghlhhmlmghlmmglmmlgmlmggmmggl")
    """Kinds of the apps by how often they are launched, the most launched first, again from the start when it is used up: the letters
    l, m, h and g, or names with blanks between them, names of workloads (`swaplab list apps`) among them. Default: the 36 apps of A2S'
    Table 1 (large), each given a kind by what it is (assumed)."""
    lasting_share: float = Field(default=0.73)
    """Share of anonymous pages whose nature is lasting: each use of one writes it, or none does, drawn once by the write share. Of the
    others each use is drawn. Measured: of the pages of the three bundled traces that are used in two or more of twenty equal windows
    and written at all, 69 %, 74 % and 76 % are written in over 70 % of their windows."""
    light: AppSize = Field(default_factory=lambda: AppSize(anon="20MiB", camera="0", cold="400ms", file="18MiB", graphics="25MiB", resume="80ms"))
    medium: AppSize = Field(default_factory=lambda: AppSize(anon="34MiB", camera="0", cold="600ms", file="28MiB", graphics="30MiB", resume="120ms"))
    models: dict[str, AppSize] = Field(default_factory=dict)
    """Kinds of one's own, by name. Besides, the categories of DR.Swap (Zhong et al. 2016, Table III) are known: browser, gaming,
    multimedia, news, shopping, social; their file pages are the mean package of the category, the rest is assumed."""
    resume_share: float = Field(default=0.5)
    """Share of anonymous pages that each resume uses; a cold start writes them before it is ready, the others after."""
    shared: Many[Shared] = Field(default_factory=list)
    """Pages that several apps own, beside those of `system`."""
    spread: float = Field(default=0.2)
    """Sizes are drawn evenly from 1 - spread to 1 + spread times the kind's."""
    system: AppSize = Field(default_factory=lambda: AppSize(anon="320MiB", camera="0", cold="0", file="170MiB", graphics="45MiB", resume="0"))
    """System processes, the zygote and shared libraries, used at each launch."""
    system_hot_share: float = Field(default=0.25)
    system_warm_probability: float = Field(default=0.02)
    system_warm_share: float = Field(default=0.35)
    warm_probability: float = Field(default=0.3)
    warm_share: float = Field(default=0.2)
    """Share that a resume uses each page of with `warm_probability`."""
    write_share: float = Field(default=0.3)
    """Share of a resume's anonymous references that write."""


class StartSpread(BaseModel):
    """Of one app: how many, and the median and 95th percentile in ms."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    n: float = Field(default=0.0)
    p50: float = Field(default=0.0)
    p95: float = Field(default=0.0)


class AppRow(BaseModel):
    """One app, or the system at the end."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

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
    """A real program: an app that comes along, an app file, or a command."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True, validate_by_name=True)

    __pydantic_extra__: dict[str, Setting] = Field(init=False)
    command: Many[str] = Field(default_factory=list)
    """In place of `use`: a command that is run to its end (world `memory`)."""
    count: int = Field(default=1, ge=0)
    """That many of it, named NAME-1, NAME-2 and so on, each with a seed of its own where the app has one."""
    name: str = Field(default="")
    """In place of the app's own name."""
    use: str = Field(default="")
    """`redis`, `phone-app` and others of `swaplab list apps`, or the path of an app file, relative to the experiment file."""


# The apps that are launched.
Apps = str | Many[Use] | AppModels


# Which pages of a cached app are paged out.
Compact = Literal["off", "file", "anon", "full"]


class Background(BaseModel):
    """What apps do while they are not in front. All of it is off by default: no paper publishes it with its workload."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    activity_every: str = Field(default="0")
    """Time from one burst of an app's other activity to the next; 0: none."""
    activity_share: float = Field(default=0.0)
    """Share of its anonymous pages that a burst uses, the hottest first; the app's own share of them is written."""
    compact: Compact = Field(default="off")
    """Pages of an app that are paged out once it is cached (Android's `CachedAppOptimizer`)."""
    freeze_after: str = Field(default="0")
    """Time after which a cached app is frozen and does nothing (Android: 10min); 0: never. Apps with a service are not frozen."""
    gc_every: str = Field(default="0")
    """Time from one garbage collection of a background app to the next; 0: none."""
    gc_share: float = Field(default=0.0)
    """Share of its anonymous pages that a collection reads, the hottest first."""


# The guest's block devices.
BlockDevices = Literal["driver", "null-blk"]


class Calibration(BaseModel):
    """Microbenchmarks of one configuration, and how well they predict its visits."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    costs_ns: dict[str, int | float | None] = Field(default_factory=dict)
    """Costs by name in ns, null where one could not be measured."""
    errors: dict[str, int | float | None] = Field(default_factory=dict)
    """Median error of the prediction in percent, by `launch` and `switch`, and visits that it is of."""
    own_ms: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Each app's own times in ms, without pressure: launch and switch."""


class Cdf(BaseModel):
    """Quantiles 0, 0.01 .. 1; null of nothing, null entries from the share on that never ended."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    cold_ms: Many[int | float | None] | None = Field(default=None)
    entry_lifetime_s: Many[int | float | None] | None = Field(default=None)
    resume_ms: Many[int | float | None] | None = Field(default=None)


class Classes(BaseModel):
    """Launches by how they feel (Tolia et al. 2006, as A2S uses them): upper bounds 150, 1000, 2000 and 5000 ms."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    annoying: float = Field(default=0.0)
    crisp: float = Field(default=0.0)
    noticeable: float = Field(default=0.0)
    unacceptable: float = Field(default=0.0)
    unusable: float = Field(default=0.0)


class Daily(BaseModel):
    """Rates a day at the beat of these launches."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    battery_share: int | float | None = Field(default=None)
    """Share of the battery's energy; null where the machine has none."""
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


# Reading ahead at the start of an app.
Prepage = Literal["none"] | Literal["asap"]


class Proactive(BaseModel):
    """Proactive reclaim by pressure stall information (TMO, Weiner et al. 2022, Section 3.3)."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    every: str = Field(default="0")
    """Time from one step to the next; 0: no proactive reclaim (TMO: 6s)."""
    ratio: float = Field(default=0.0005)
    """Share of the frames in use that a step without stalls reclaims."""
    threshold: float = Field(default=0.001)
    """Share of time stalled at which nothing is reclaimed."""


class Design(BaseModel):
    """One design, or by its lists several."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    app_policy: OneOrMany = Field(default="none")
    """Whose pages may be swapped out: an app policy of `swaplab list app-policies`."""
    killer: OneOrMany | None = Field(default=None)
    """The low-memory killer, in place of `machine.killer`."""
    name: str = Field(default="")
    """What results call it; by default what differs between the designs."""
    policy: OneOrMany = Field(default="system")
    """Which page is reclaimed: `system` is whatever the world has of its own (the kernel's, or the model of `machine.kernel`), else a
    policy of `swaplab list policies`."""
    prepage: Prepage = Field(default="none")
    """Pages that are read when an app is started, before it asks for them."""
    proactive: Proactive | None = Field(default=None)
    """In place of `machine.proactive`."""
    swap: OneOrMany | None = Field(default=None)
    """Where a victim goes: a scheme of `swaplab list schemes`. Only `replay` runs a design without one: swap is then unlimited, and
    each page costs what `run.replay.swap_device` says."""


class Devices(BaseModel):
    """Devices by medium."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    dram: str = Field(default="lpddr2")
    flash: str = Field(default="ufs-3.1")
    nvm: str = Field(default="lpddr2-pcm")
    processor: str = Field(default="x86-64")
    """Costs of faults and copies on the processor."""
    sd_card: str = Field(default="sd-card", alias="sd-card")


class DiskRate(BaseModel):
    """Random reads or writes of pages at one queue depth."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    depth: int = Field(ge=0)
    operation: str
    pages_per_s: float


class Draw(BaseModel):
    """Launches drawn by popularity 1 / rank^alpha over the apps in their order; no app is launched twice in a row (A2S, Table 1)."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    alpha: float
    launches: int = Field(ge=0)
    seed: int = Field(default=1, ge=0)


class Energy(BaseModel):
    """Energy in joules."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    parts_j: dict[str, int | float | None] = Field(default_factory=dict)
    """By part; null where a device's energy is unknown."""
    total_j: int | float | None = Field(default=None)
    """Sum of the parts that are known."""


# In which order a storage device serves a read that finds it writing. What each does exactly stands in docs/models/queue.md.
IoOrder = Literal["noop", "cfq-like", "row-like", "mq-deadline-like", "reads-first"]


class KernelSettings(BaseModel):
    """The kernel's memory settings, by its own names where it has them."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    extra_free: str = Field(default="0")
    """`vm.extra_free_kbytes` of Android kernels."""
    io_order: IoOrder = Field(default="reads-first")
    """How storage orders reads and writes."""
    max_request: str | None = Field(default=None)
    """The largest request of storage: adjacent pages are written together up to it. Without a value, what the scheme has."""
    page_cluster: int | None = Field(default=None, ge=0)
    """`vm.page-cluster`: a swap-in reads 2^n pages; without a value, what the machine or the scheme has."""
    policy: Spec = Field(default="active-inactive")
    """The page policy that models this kernel's reclaim where no kernel runs."""
    read_ahead: str = Field(default="128KiB")
    """The most that a read of a file reads ahead."""
    scan_ns: int = Field(default=200, ge=0)
    """Processor time of kswapd for each page that it scans, in ns (assumed)."""
    swappiness: int | None = Field(default=None, ge=0)
    """`vm.swappiness`, 0 to 200; without a value, what the machine or the policy has."""
    write_back_holds_frames: bool = Field(default=True)
    """A page that is being written keeps its frame until it is (mm/vmscan.c, `shrink_folio_list`). False: reclaim frees it at once, and
    who reclaims for himself waits for his own writes."""


class Limits(BaseModel):
    """How many apps Android keeps alive."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    cached: int | None = Field(default=None, ge=0)
    """Cached apps without a service (A2S, Section 5.3: 16); without a value, no limit."""
    services: int = Field(default=0, ge=0)
    """Apps that run a service while they are in the background (A2S, Section 5.3: 3); which ones they are is drawn."""


class Machine(BaseModel):
    """The machine that designs run on."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    background: Background = Field(default_factory=Background)
    base: str = Field(default="plain")
    """A preset of `swaplab list machines`; the keys below override it."""
    battery_wh: float = Field(default=0.0)
    """Energy of the battery in Wh, with which a day's energy is compared; 0: none."""
    cores: int = Field(default=4, ge=0)
    """Processors of the simulated phone. With one, background reclaim and the app that is started share it; with more, they run side by
    side."""
    devices: Devices = Field(default_factory=Devices)
    """Devices by medium: keys of `swaplab list devices`, or paths of device files."""
    dram: str | None = Field(default=None)
    """Memory: of the machine (`phone`, `vm`), of the control group (`kernel`), of each process (`memory`), or in percent of the trace's
    footprint (`replay`)."""
    firmware: str = Field(default="0")
    """Part of `dram` that firmware and modem keep from the kernel."""
    kernel: KernelSettings = Field(default_factory=KernelSettings)
    kernel_reserved: str = Field(default="0")
    """Part of `dram` that the kernel itself uses and never reclaims."""
    killer: Spec = Field(default="off")
    """The low-memory killer of designs that name none; `off` for none."""
    limits: Limits = Field(default_factory=Limits)
    page_size: str = Field(default="4KiB")
    """Bytes of a page: 4KiB or 16KiB."""
    pool_in_dram: bool = Field(default=False)
    """Compressed pages take frames of `dram`, as zsmalloc takes them. False: they take memory beside it, as a control group is not
    charged for the pool of zram."""
    proactive: Proactive = Field(default_factory=Proactive)


PoolMemory = Literal["extra", "within"]


class KernelRun(BaseModel):
    """What only the world `kernel` needs."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    calibrate: bool = Field(default=True)
    """Measure microbenchmarks first and say how well they predict this run."""
    events: bool = Field(default=False)
    """Record the kernel's swap and block events of each configuration."""
    pool: PoolMemory = Field(default="extra")
    """Where the memory of a swap area (a RAM disk, zram's pool) comes from."""
    target: str = Field(default="local")
    """`local`, `ssh:HOST` or `adb`."""
    user: str = Field(default="")
    """Who runs the apps; empty: `nobody` where root starts them."""


Unmanaged = Literal["refuse", "warn"]


class MemoryRun(BaseModel):
    """What only the world `memory` (the pager) needs."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    flash: str = Field(default="")
    """Directory of the flash file; empty: where temporary files go."""
    medium: str = Field(default="plain")
    """Medium that DRAM poses as: `plain` for DRAM as it is, or a device whose latency is injected."""
    nvm: str = Field(default="")
    """Where NVM lies: a directory (a DAX file system), `node:N`, or empty for memory that poses as NVM."""
    unmanaged: Unmanaged = Field(default="refuse")
    """What becomes of a program whose memory cannot be managed."""


FirstTouch = Literal["charged", "zero-fill"]


Mapping = Literal["follow", "ignore"]


class ReplayRun(BaseModel):
    """What only the world `replay` needs."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    first_touch: FirstTouch | None = Field(default=None)
    """What the first touch of an anonymous page costs: by default nothing where a scheme is joined, else a swap read."""
    length: str | None = Field(default=None)
    """Length of the run, for energy at rest and yearly wear."""
    mapping: Mapping = Field(default="follow")
    """Whether unmap and discard events free pages."""
    signal: str = Field(default="exact")
    """What policies see of hits: `exact`, `reference-bit:REFERENCES` or `fault-only`."""
    swap_device: str = Field(default="optane-m10")
    """Device of the swap area of a design without a scheme: unlimited, each page as the device costs."""


# What `machine.dram` is in a guest.
VmLimit = Literal["guest", "group"]


class VmRun(BaseModel):
    """What only the world `vm` needs."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    app_groups: bool | None = Field(default=None)
    """Each app has a memory control group of its own, as on Android with `per_app_memcg`, and reclaim takes of each in turn. Without a
    value, where a design's app policy forbids swap-outs app by app."""
    block_devices: BlockDevices = Field(default="driver")
    cpus: int = Field(default=1, ge=0)
    """Processors of the guest. Virtual time is the sum over them: more make nothing faster."""
    dirty_background_ratio: int = Field(default=10, ge=0)
    """Percent of memory that may be dirty before the flusher writes back, and before the writer itself does."""
    dirty_ratio: int = Field(default=20, ge=0)
    events: Many[str] = Field(default_factory=list)
    """Tracepoints to record, such as `vmscan/mm_vmscan_direct_reclaim_begin`."""
    gips: float = Field(default=1.0)
    """Billions of instructions a second of the core that is meant: prices of devices are multiplied by it, times divided."""
    kernel: str = Field(default="debian-6.12")
    """A kernel of `swaplab kernel list`, or the path of an arm64 image."""
    limit: VmLimit | None = Field(default=None)
    """What `machine.dram` limits; without a value, the apps' control group below 192 MiB, which a guest with its kernel needs, else the
    guest."""
    mglru: bool = Field(default=True)
    """Multi-generational LRU, on as in Android's kernels since 6.1."""
    samples: bool = Field(default=False)
    """Write samples of memory, as a loop of shell commands takes them on a phone, into the run folder (`DESIGN-NUMBER.samples`, which
    `swaplab trace fit phone` reads): before each visit and while its app is in front. They take time of the guest's processor."""
    shift: str = Field(default="5us")
    """The most that a think time is shifted at random, another one for each seed."""
    system: str = Field(default="24MiB")
    """Memory of a process that stands for the system's and is used every `system_period`; `0` for none."""
    system_period: str = Field(default="1s")
    think: str = Field(default="3s")
    """Time between home and the next launch. Linux 6.12 judges its lists by counts that are two to four seconds old, so after less it
    does not know what the last launch moved."""
    verify: bool = Field(default=True)
    """Every living app checks all its pages at the end."""
    virtual_limit: str = Field(default="3600s")
    """The guest is ended after so much virtual time, and after so much time of the host's clock."""
    wall_limit: str = Field(default="1800s")
    watermark_scale_factor: int | None = Field(default=None, ge=0)
    """`vm.watermark_scale_factor` in ten thousandths of memory; without a value, what `machine.kernel.extra_free` comes to."""


class Run(BaseModel):
    """Where designs are run, and how often."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    kernel: KernelRun = Field(default_factory=KernelRun)
    memory: MemoryRun = Field(default_factory=MemoryRun)
    on: Many[str] = Field(default_factory=list)
    """Worlds of `swaplab list worlds`; without one, `replay` for a trace, `phone` for launches, `memory` for apps alone."""
    replay: ReplayRun = Field(default_factory=ReplayRun)
    seed: int = Field(default=0, ge=0)
    """First seed of everything that is drawn at random."""
    seeds: int | None = Field(default=None, ge=0)
    """Runs with different seeds from `seed` on. By default phone 8, vm 5 perturbations, kernel 3 repetitions, replay and memory 1."""
    vm: VmRun = Field(default_factory=VmRun)


# A value of a key that is varied.
Scalar = bool | int | float | str


class Range(BaseModel):
    """Numbers from `low` to `high`, both included."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    high: float
    log: bool = Field(default=False)
    """Spaced by equal ratios in place of equal differences."""
    low: float
    steps: int = Field(default=5, ge=0)
    """How many numbers a combination takes from the range; a random draw falls anywhere in it."""
    unit: str = Field(default="")
    """Written behind each number, such as `%` or `MiB`; without it, values are numbers."""


# The values of one key.
Values = Many[Scalar] | Range


class Vary(BaseModel):
    """Which points are run. Without `points` and `list`: every combination of the keys' values."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True, validate_by_name=True)

    __pydantic_extra__: dict[str, Values] = Field(init=False)
    list: Many[dict[str, Scalar]] = Field(default_factory=list)
    """In place of keys: each entry sets its keys for one point."""
    points: int | None = Field(default=None, ge=0)
    """Draw so many points at random, each key on its own and evenly over its values, in place of every combination."""


RoundRobin = Literal["round-robin"]


# The apps of one round.
Order = RoundRobin | Many[str] | Draw


class LaunchTable(BaseModel):
    """Launches of the listed apps in rounds."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    foreground: str = Field(default="50ms")
    """Time that an app stays in front after its launch."""
    order: Order = Field(default="round-robin")
    """The apps of one round."""
    rounds: int = Field(default=3, ge=0)
    warm_up: int = Field(default=1, ge=0)
    """Rounds before the first one that counts."""


# Which app is launched when.
Launches = str | LaunchTable


class Reading(BaseModel):
    """How a trace that is no `.slt` is read."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    data_read_class: str | None = Field(default=None)
    """Class of pages that are only read as data, where nothing gives it: `anonymous` or `file`."""
    filefrag: str | None = Field(default=None)
    """Block traces: the extents of a swap file, as `filefrag -v` prints them."""
    filter: int | None = Field(default=None, ge=0)
    """Entries of the LRU filter whose hits were dropped at capture; taken from the file's name where that says it."""
    format: str | None = Field(default=None)
    """A key of `swaplab list formats`; detected where it can be."""
    page_size: int | None = Field(default=None, ge=0)
    """Bytes of a page where the trace does not say."""
    pages: str | None = Field(default=None)
    """Page table of the trace (format `pgcsv`)."""
    ranges: str | None = Field(default=None)
    """Block traces: a file of named ranges of sectors."""


class Workload(BaseModel):
    """One workload of each kind; each world takes the kind that it needs."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    apps: Apps | None = Field(default=None)
    """The apps: a preset (`assumed-2014`), the path of a fitted file, a table of app models, or a list of real programs."""
    launches: Launches | None = Field(default=None)
    """Which app is launched when: a generator (`zipf:apps=50,alpha=1.45`) or preset of `swaplab list launches`, the path of a trace of
    launches, or a table with an order."""
    reading: Reading = Field(default_factory=Reading)
    """How `trace` is read where the file does not say."""
    trace: str | None = Field(default=None)
    """A `.slt` file or any importable page trace; relative to the experiment file, or an address such as `s3://bucket/trace.slt`."""


class Experiment(BaseModel):
    """One experiment: designs of swap, the machine and the workload that they run on, where they run, and what is varied."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    about: str = Field(default="")
    """What it asks, in a sentence."""
    design: Many[Design] = Field(default_factory=list)
    machine: Machine = Field(default_factory=Machine)
    name: str = Field(default="")
    """What reports call it; by default the file's name."""
    run: Run = Field(default_factory=Run)
    vary: Vary | None = Field(default=None)
    workload: Workload = Field(default_factory=Workload)


class GaugeSample(BaseModel):
    """A policy's own figures at one reference."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    reference: int = Field(default=0, ge=0)
    values: Many[float] = Field(default_factory=list)


class Host(BaseModel):
    """The machine that measured."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    disk: str | None = Field(default=None)
    """The disk under the swap area and the apps' files."""
    disk_rates: Many[DiskRate] = Field(default_factory=list)
    """Pages a second of that disk by operation and queue depth, as calibration measured them."""
    facts: dict[str, str] = Field(default_factory=dict)
    """What else is known of it, such as versions of QEMU and of the guest's kernel."""
    kernel: str = Field(default="")
    memory_bytes: int = Field(default=0, ge=0)
    processor: str = Field(default="")
    processors: int = Field(default=0, ge=0)
    target: str = Field(default="")
    user: str = Field(default="")


class TraceFacts(BaseModel):
    """What a page trace holds."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    footprint_pages: int = Field(default=0, ge=0)
    """Distinct pages that are referenced."""
    page_bytes: int = Field(default=0, ge=0)
    raw_references: int | None = Field(default=None, ge=0)
    references: int = Field(default=0, ge=0)
    valid_from_frames: int = Field(default=0, ge=0)
    """Least frames at which a filtered trace is valid; 0: any."""


class Input(BaseModel):
    """A file that a run read."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    content_hash: str = Field(default="")
    """SHA-256 of its content."""
    kind: str = Field(default="")
    """`trace`, `launches`, `apps`, `app`, `device`, `policy` or `kernel`."""
    name: str = Field(default="")
    """What a person calls it: the name within a trace, else the file's name."""
    path: str = Field(default="")
    trace: TraceFacts | None = Field(default=None)
    """For a page trace: what it holds."""


class KernelDetail(BaseModel):
    """Of a real kernel, measured or virtual."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    apps: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Bytes of each living app at the end, by kind of memory (`smaps_rollup`)."""
    bad_pages: int = Field(default=0, ge=0)
    """Pages whose content was wrong, over how many apps that were checked at the end. Anything but 0 is a bug of the kernel or of
    ours."""
    by_app_ms: dict[str, float] = Field(default_factory=dict)
    """Median delay of each app in ms."""
    calibration: Calibration | None = Field(default=None)
    checked_apps: int = Field(default=0, ge=0)
    counters: dict[str, float] = Field(default_factory=dict)
    """Kernel counters over the counted rounds, as means over repetitions."""
    events: dict[str, float] = Field(default_factory=dict)
    """Kernel events counted, by name."""
    others_swapping: bool = Field(default=False)
    """Others on the machine swapped meanwhile, so that machine-wide counts are not this run's alone."""
    outliers_ms: Many[float] = Field(default_factory=list)
    """Delay outliers beyond three interquartile ranges, shown and never dropped."""
    psi_scope: str = Field(default="")
    """Whose pressure PSI tells: the group's or the machine's."""
    swap_size_bytes: int = Field(default=0, ge=0)
    throttle: dict[str, float] = Field(default_factory=dict)
    """What slowed a disk to a card's speed: rates asked for and reached."""


# How figures came about. Kinds never share an axis unmarked.
Kind = Literal["simulated", "virtual", "measured", "emulated"]


class Spread(BaseModel):
    """A distribution in milliseconds, over all launches of all seeds."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    mean: float = Field(default=0.0)
    mean_interval: tuple[float, float] | None = Field(default=None)
    """95 % confidence intervals, clustered by user (phone), seed (vm) or app (kernel); null where n is 1."""
    n: int = Field(default=0, ge=0)
    p50: float = Field(default=0.0)
    p50_interval: tuple[float, float] | None = Field(default=None)
    p95: float = Field(default=0.0)
    p95_interval: tuple[float, float] | None = Field(default=None)


class LaunchFigures(BaseModel):
    """Launches, as means over seeds where they are counts."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    cold: float = Field(default=0.0)
    cold_ms: Spread | None = Field(default=None)
    """Of cold starts, of resumes, and the stalled part of all."""
    count: float = Field(default=0.0)
    delay_ms: Spread | None = Field(default=None)
    """Delay of all launches, from the request to the app's being ready."""
    kill_reasons: dict[str, float] = Field(default_factory=dict)
    """Kills by reason, such as `low-memory`, `cached-limit`, `out-of-memory`."""
    kills: float = Field(default=0.0)
    """Apps killed, for any reason."""
    resume_ms: Spread | None = Field(default=None)
    resumes: float = Field(default=0.0)
    stall_ms: Spread | None = Field(default=None)
    ux: Classes = Field(default_factory=Classes)


class Lifetimes(BaseModel):
    """Lifetimes of swap entries: from the write to the death of their owner (A2S, Section 3), in seconds."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    below: dict[str, int | float | None] = Field(default_factory=dict)
    never: int | float | None = Field(default=None)
    """Share whose owner lived to the end."""
    p10: int | float | None = Field(default=None)
    """Quantiles of those that ended."""
    p50: int | float | None = Field(default=None)
    p90: int | float | None = Field(default=None)


class Wear(BaseModel):
    """Wear of a medium under level wear."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    capacity_bytes: float = Field(default=0.0)
    cycles: float = Field(default=0.0)
    """Program cycles that each cell took."""
    cycles_per_day: int | float | None = Field(default=None)
    """Where the run's length is known."""
    endurance_cycles: float = Field(default=0.0)
    years_to_endurance: int | float | None = Field(default=None)


class MediumUse(BaseModel):
    """What one medium did."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    background_j: int | float | None = Field(default=None)
    """At rest, where the run's length is known."""
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
    """Memory that the design used, so that designs can be compared at equal memory. Peaks."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    dram_bytes: int | float | None = Field(default=None)
    """DRAM for pages: the frames, or the group's limit."""
    flash_bytes: int | float | None = Field(default=None)
    metadata_bytes: int | float | None = Field(default=None)
    """DRAM for tables of the scheme."""
    nvm_bytes: int | float | None = Field(default=None)
    other_medium_bytes: int | float | None = Field(default=None)
    """NVM and flash that the swap area filled."""
    pool_bytes: int | float | None = Field(default=None)
    """DRAM beside them for compressed pages or a RAM disk; 0 where the pool takes frames of `dram_bytes`."""
    pool_peak_bytes: int | float | None = Field(default=None)
    """The most that the pool held, wherever it lies."""
    total_dram_bytes: int | float | None = Field(default=None)
    """All DRAM: pages, pool beside them, tables."""


class MemoryDetail(BaseModel):
    """Of a real program under the pager: its statistics as `exec --stats` writes them."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    exit_code: int | None = Field(default=None)
    processes: int = Field(default=0, ge=0)
    stats: dict[str, float] = Field(default_factory=dict)
    """The pager's counters, summed over processes; peaks are the largest."""


class Paging(BaseModel):
    """Page traffic."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    anon_refaults: int | float | None = Field(default=None)
    copied_pages: int | float | None = Field(default=None)
    """Pages copied from swap by a fault."""
    direct_reads: int | float | None = Field(default=None)
    """Faults served by mapping the page where it lies."""
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
    """References to pages mapped where they lie."""
    nvm_write_bytes: int | float | None = Field(default=None)
    promotions: int | float | None = Field(default=None)
    """Mapped pages that were copied to DRAM by a write."""
    read_ahead_pages: int | float | None = Field(default=None)
    reclaimed_direct_pages: int | float | None = Field(default=None)
    reclaimed_pages: int | float | None = Field(default=None)
    """Pages that background and direct reclaim took from memory, and those of direct reclaim alone."""
    refaults: int | float | None = Field(default=None)
    """Faults of pages that had been in memory before."""
    references: int | float | None = Field(default=None)
    rejected_pages: int | float | None = Field(default=None)
    """Pages that the app policy kept from swap."""
    scanned_pages: int | float | None = Field(default=None)
    """Pages that reclaim looked at; of a kernel and of the phone, without active pages."""
    swap_full: int | float | None = Field(default=None)
    """Swap-outs that found swap full."""
    swap_in_bytes: int | float | None = Field(default=None)
    """Copied from swap, readahead included, Direct Reads left out."""
    swap_out_bytes: int | float | None = Field(default=None)
    swap_reads: int | float | None = Field(default=None)
    swap_writes: int | float | None = Field(default=None)
    unchanged_pages: int | float | None = Field(default=None)
    """Clean pages whose swap slot was still valid: no write."""
    zero_fills: int | float | None = Field(default=None)


class TimelineKill(BaseModel):
    """"""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    adjustment: int = Field(default=0, ge=0)
    app: str = Field(default="")
    at_s: float = Field(default=0.0)
    freed_mib: float = Field(default=0.0)
    reason: str = Field(default="")


class Timeline(BaseModel):
    """Memory over time in MiB, times in seconds; columns of one length."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

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
    """Of the simulated phone."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    apps: Many[AppRow] = Field(default_factory=list)
    cdf: Cdf = Field(default_factory=Cdf)
    daily: Daily = Field(default_factory=Daily)
    entry_lifetime_s: Lifetimes = Field(default_factory=Lifetimes)
    memory_was_tight: bool = Field(default=False)
    """Whether memory was ever tight: reclaim ran or an app was killed."""
    premise_built: bool = Field(default=False)
    """The launches were drawn independently by popularity, which is A2S' own assumption."""
    scheme_gauges: dict[str, float] = Field(default_factory=dict)
    timeline: Timeline = Field(default_factory=Timeline)
    """Memory over time of the first seed."""
    wasted_write_ratio: int | float | None = Field(default=None)
    """Share of swap entries that were never read."""


class ReplayDetail(BaseModel):
    """Of a replayed trace."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    file_read_ns: int = Field(default=0, ge=0)
    file_write_ns: int = Field(default=0, ge=0)
    filter_limited: bool = Field(default=False)
    """Fewer frames than the trace's filter allows."""
    first_touch: str = Field(default="")
    frames: int = Field(default=0, ge=0)
    gauges: Many[str] = Field(default_factory=list)
    """The policy's own figures over the trace: their names, and samples."""
    scheme_gauges: dict[str, float] = Field(default_factory=dict)
    """The scheme's own figures at the end."""
    series: Many[GaugeSample] = Field(default_factory=list)
    swap_read_ns: int = Field(default=0, ge=0)
    """Costs of a page in ns: swap read and write, file read and write."""
    swap_write_ns: int = Field(default=0, ge=0)


class SeedRow(BaseModel):
    """Figures of one seed."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    figures: dict[str, float] = Field(default_factory=dict)
    """Figures by their path in the row, such as `launches.resumes`."""
    seed: int = Field(default=0, ge=0)


class Time(BaseModel):
    """Where time went."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    cpu_swap_ns: int | float | None = Field(default=None)
    """Processor time of swap: copies, compression, mapping."""
    cpu_system_ns: int | float | None = Field(default=None)
    cpu_user_ns: int | float | None = Field(default=None)
    direct_reclaim_ns: int | float | None = Field(default=None)
    file_read_ns: int | float | None = Field(default=None)
    file_write_ns: int | float | None = Field(default=None)
    io_ns: int | float | None = Field(default=None)
    """Devices busy with swap and files."""
    kswapd_ns: int | float | None = Field(default=None)
    psi_full_ns: int | float | None = Field(default=None)
    psi_some_ns: int | float | None = Field(default=None)
    """PSI totals: some and all tasks stalled on memory."""
    stall_ns: int | float | None = Field(default=None)
    """Tasks stalled on memory."""
    swap_read_ns: int | float | None = Field(default=None)
    swap_write_ns: int | float | None = Field(default=None)
    wall_ns: int | float | None = Field(default=None)
    """Length of the run."""


class Row(BaseModel):
    """A design in a world at a point under a workload."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    app_policy: str
    by_seed: Many[SeedRow]
    """Figures of each seed, in order; empty for one run."""
    design: str
    """Name of the design; `policy`, `swap`, `app_policy` and `killer` as it writes them."""
    energy: Energy | None = Field(default=None)
    interval: dict[str, tuple[float, float]]
    """95 % confidence intervals of figures by their path in the row, such as `launches.delay_ms.mean`; none where n is 1."""
    invalid: str | None = Field(default=None)
    """Why the row's figures are not to be used; null where they are."""
    kernel: KernelDetail | None = Field(default=None)
    """Of `kernel`, and of `vm`."""
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
    """First seed, and how many runs are averaged."""
    seeds: int = Field(ge=0)
    swap: str | None = Field(default=None)
    time: Time
    workload: str
    """The trace, launches or apps."""
    world: str


class Document(BaseModel):
    """The result of one run of an experiment."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, validate_by_name=True)

    experiment: Experiment
    """The experiment as it was run: presets, options and defaults filled in, designs crossed and named."""
    inputs: Many[Input]
    """Every file that the run read."""
    machine: Host | None = Field(default=None)
    """The machine that measured; null where nothing was measured."""
    name: str
    """What reports call the run."""
    rows: Many[Row]
    schema_version: int = Field(ge=0, alias="schema")
    """Version of this document's form; another one is refused."""
    tables: Many[str]
    """Names of the parquet tables beside the document."""
    versions: dict[str, str]
    """Versions of swaplab and of what its figures depend on."""
    warnings: Many[str]
    """What a reader must know before using the figures, one sentence each."""
