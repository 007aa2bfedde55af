"""The experiment file as pydantic models. Generated from the Rust types by tools/generate_config.py: do not edit."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

#: By another name, for models whose fields include `list`.
Many = list


class AppSize(BaseModel):
    """What an app of one kind takes. Where a share is left out, that of `[sim.apps]` holds."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    anon_mib: float
    camera_mib: float = Field(default=0.0)
    """Camera buffers: held while the app is in front, never reclaimed, none of it kept in the background."""
    cold_ms: float
    """Processor time of a cold start and of a resume, without faults."""
    file_hot_share: float | None = Field(default=None)
    file_mib: float
    graphics_mib: float
    """Held by the GPU while the app is in front, never reclaimed."""
    resume_ms: float
    resume_share: float | None = Field(default=None)
    warm_probability: float | None = Field(default=None)
    warm_share: float | None = Field(default=None)
    write_share: float | None = Field(default=None)


class Shared(BaseModel):
    """One range of shared pages."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    anon_mib: float
    apps: float
    """Share of the apps that map it, the most launched first."""
    file_mib: float
    name: str
    system: bool = Field(default=False)
    """A system process such as the zygote owns it, too, so that it outlives all apps."""


class AppModels(BaseModel):
    """How apps use memory: sizes by kind, and shares of their pages. All assumed."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    by_name: dict[str, str] = Field(default_factory=dict)
    """Kinds by app's name, where launches have names. If it is not empty, it must have each app that is launched."""
    file_hot_share: float = Field(default=0.35)
    """Share of file pages that each start reads; the others are read once, after a cold start."""
    game: AppSize = Field(default_factory=lambda: AppSize(anon_mib=90, cold_ms=2500, file_mib=50, graphics_mib=50, resume_ms=300))
    graphics_kept: float = Field(default=0.15)
    """Share of its graphics that an app keeps in the background."""
    heavy: AppSize = Field(default_factory=lambda: AppSize(anon_mib=60, cold_ms=1000, file_mib=45, graphics_mib=35, resume_ms=200))
    kinds: str = Field(default="mlllmhlghlhhmlmghlmmglmmlgmlmggmmggl")
    """Kinds of the apps by how often they are launched, the most launched first, again from the start when it is used up: the letters
    l, m, h and g, or names with blanks between them, names of workloads (`swaplab list apps`) among them. Default: the 36 apps of A2S'
    Table 1 (large), each given a kind by what it is (assumed)."""
    light: AppSize = Field(default_factory=lambda: AppSize(anon_mib=20, cold_ms=400, file_mib=18, graphics_mib=25, resume_ms=80))
    medium: AppSize = Field(default_factory=lambda: AppSize(anon_mib=34, cold_ms=600, file_mib=28, graphics_mib=30, resume_ms=120))
    models: dict[str, AppSize] = Field(default_factory=dict)
    """Kinds of one's own, by name. Besides, DR.Swap's categories (papers/000, Table III) are known: browser, gaming, multimedia, news,
    shopping, social; their file pages are the mean package of the category, the rest is assumed."""
    resume_share: float = Field(default=0.5)
    """Share of anonymous pages that each resume uses; a cold start writes them before it is ready, the others after."""
    shared: Many[Shared] = Field(default_factory=list)
    """Pages that several apps own, beside those of `system`."""
    spread: float = Field(default=0.2)
    """Sizes are drawn evenly from 1 - spread to 1 + spread times the kind's."""
    system: AppSize = Field(default_factory=lambda: AppSize(anon_mib=320, cold_ms=0, file_mib=170, graphics_mib=45, resume_ms=0))
    """System processes, the zygote and shared libraries, used at each launch."""
    system_hot_share: float = Field(default=0.25)
    system_warm_probability: float = Field(default=0.02)
    system_warm_share: float = Field(default=0.35)
    warm_probability: float = Field(default=0.3)
    warm_share: float = Field(default=0.2)
    """Share that a resume uses each page of with `warm_probability`."""
    write_share: float = Field(default=0.3)
    """Share of a resume's anonymous references that write."""


# Which of the conditions hold.
AppPolicy = Literal["none", "ess", "lvsp", "a2s", "acclaim", "ariadne"]


# Which pages of a cached app Android's app compaction pages out (`CachedAppOptimizer`).
Compact = str


class Background(BaseModel):
    """"""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    activity_every_s: float = Field(default=0.0)
    """Seconds from one burst of an app's other activity to the next; 0: none."""
    activity_share: float = Field(default=0.0)
    """Share of its anonymous pages that a burst uses, with the app's own share of writes; the hottest first."""
    compact: Compact = Field(default="off")
    """Pages of an app that are paged out once it is cached."""
    freeze_after_s: float = Field(default=0.0)
    """Seconds after which a cached app is frozen and does nothing (Android: 600); 0: never. Apps with a service are not frozen."""
    gc_every_s: float = Field(default=0.0)
    """Seconds from one garbage collection of an app in the background to the next; 0: none."""
    gc_share: float = Field(default=0.0)
    """Share of its anonymous pages that a collection reads; the hottest first."""


# A value of an app's `set`.
Plain = str | int | float


class Use(BaseModel):
    """An app of the bench: a known app, or the path of an app file, with values of its own."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    count: int = Field(default=1, ge=0)
    """That many of it, named name-1, name-2, ..., with seeds of their own where it has a seed."""
    name: str = Field(default="")
    """In place of the app's own name."""
    set: dict[str, Plain] = Field(default_factory=dict)
    """Values of the app file's `set`."""
    use: str
    """`redis`, `swaplab-app` and others that come along, or an app file, relative to the experiment file."""


class BenchKiller(BaseModel):
    """The bench's low-memory killer, by lmkd's names where it has them."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    min_free_percentage: float = Field(default=6.0)
    """Free memory and file pages below this share of the limit are low memory."""
    poll_ms: float = Field(default=10.0)
    psi_partial_stall_ms: float = Field(default=70.0)
    """Thrashing counts only with at least this stall within the second."""
    swap_free_low_percentage: float = Field(default=10.0)
    """Free swap below this share of all swap is low swap."""
    thrashing_limit: float = Field(default=100.0)
    """Refaults of file pages within a second, in percent of the file pages, that are thrashing."""


RoundRobin = Literal["round-robin"]


class Zipf(BaseModel):
    """Launches drawn by popularity 1 / rank^alpha over the apps in their order; no app is launched twice in a row (A2S, Table 1)."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    alpha: float
    launches: int = Field(ge=0)
    seed: int = Field(default=1, ge=0)


Order = RoundRobin | Many[str] | Zipf


# Where the memory that a swap area takes (a RAM disk, zram's pool) comes from.
PoolMemory = Literal["extra", "within"]


# One text or a list of them.
OneOrMany = str | Many[str]


class Bench(BaseModel):
    """Real programs in one memory control group, under each swap scheme and swap size."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    about: str = Field(default="")
    app_policies: Many[AppPolicy] = Field(default=["none"])
    """Whose pages may be swapped out, one configuration each where there is swap: all (`none`), `ess`, `lvsp` or `a2s`."""
    apps: Many[Use]
    calibrate: bool = Field(default=True)
    """Measure microbenchmarks first and say how well they predict this experiment."""
    foreground_seconds: float = Field(default=0.05)
    """Seconds that an app is left in front after its request."""
    killer: BenchKiller = Field(default_factory=BenchKiller)
    live_limit: int | None = Field(default=None, ge=0)
    """More apps alive than this, and the one used longest ago goes (Android's limit of cached processes)."""
    memory: str
    """Limit of the apps together: `512MiB`, or `4096p`."""
    name: str = Field(default="bench")
    """What results call it."""
    order: Order = Field(default="round-robin")
    """The apps in one round: `round-robin`, their names, or a draw by popularity."""
    page_cluster: int | None = Field(default=None, ge=0)
    """`vm.page-cluster`: pages that a swap-in reads ahead, as a power of two; without it, as the machine has it."""
    pool_memory: PoolMemory = Field(default="extra")
    read_ahead_kb: int = Field(default=128, ge=0)
    """Most that a read of a file reads ahead, in KiB, on the disk with the apps' files: the kernel's own default, which phones keep
    (some machines come with megabytes, which on a phone's memory push out what was read before)."""
    repetitions: int = Field(default=2, ge=0)
    """How often each configuration is run anew."""
    rounds: int = Field(default=3, ge=0)
    schemes: OneOrMany
    """Schemes by their keys, such as `none` and `zram`."""
    swap: OneOrMany
    """Sizes of the swap area, each a configuration of its own."""
    swappiness: int = Field(default=60, ge=0)
    warm_up_rounds: int = Field(default=1, ge=0)
    """Rounds before the first one that counts."""
    zram_algorithm: str = Field(default="lz4")
    zswap_algorithm: str = Field(default="")
    """Empty: as the machine has it."""


Design = Literal["grid", "list", "random"]


FirstTouch = Literal["charged", "zero-fill"]


# What a read does that finds its device writing.
IoQueue = Literal["reads-first", "fifo"]


KillerStyle = Literal["minfree", "psi"]


# How the killer chooses.
Victim = Literal["lru", "oracle", "swam"]


class Killer(BaseModel):
    """"""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    adj: Many[int] = Field(default=[0, 100, 200, 300, 900, 900])
    """`minfree`: the least `oom_score_adj` that each level may kill. AOSP's last is 906, where it spreads cached apps over 900 to 906;
    here the highest level takes any cached app (assumed)."""
    low_memory_kb: int = Field(default=0, ge=0)
    """`psi`: memory is low with fewer kB of free and file pages together; 0: below the kernel's high watermark, as `lmkd` has it."""
    minfree_kb: Many[int] = Field(default=[73728, 92160, 110592, 129024, 147456, 184320])
    """`minfree`: levels in kB, smallest first (Nexus 5; the highest is 184320)."""
    psi_complete_stall_ms: int = Field(default=700, ge=0)
    """`ro.lmk.psi_complete_stall_ms`: stalls a second from which any app but the one in front is killed."""
    psi_partial_stall_ms: int = Field(default=70, ge=0)
    """`ro.lmk.psi_partial_stall_ms`: stalls a second from which cached apps may be killed."""
    style: KillerStyle = Field(default="minfree")
    swap_free_low_percentage: int = Field(default=10, ge=0)
    """`ro.lmk.swap_free_low_percentage`: swap is low below this share of it."""
    thrashing_limit: int = Field(default=100, ge=0)
    """`ro.lmk.thrashing_limit`: refaulted file pages in percent of the file cache within a second."""
    victim: Victim = Field(default="lru")
    """Which of the apps that may be killed goes."""


class Limits(BaseModel):
    """A2S, Section 5.3: 22 apps at most: the one in front, the previous one, home, 16 cached ones and 3 with a service."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    cached: int = Field(default=16, ge=0)
    """Apps kept in the background without a service (A2S: 16)."""
    services: int = Field(default=3, ge=0)
    """Apps that run a service when they are in the background (A2S: 3); which ones they are is drawn."""


Mapping = Literal["follow", "ignore"]


class Proactive(BaseModel):
    """"""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    every_s: float = Field(default=0.0)
    """Seconds from beat to beat; 0: no proactive reclaim. TMO: 6."""
    ratio: float = Field(default=0.0005)
    """Share of the frames in use that a beat without waiting reclaims."""
    threshold: float = Field(default=0.001)
    """Share of the time waited at which nothing is reclaimed."""


class Phone(BaseModel):
    """The device. Memory is in MiB."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    background: Background = Field(default_factory=Background)
    battery_wh: float = Field(default=8.74)
    """What a day's energy is compared with (Nexus 5: 2300 mAh at 3.8 V)."""
    dram: str = Field(default="lpddr2")
    dram_mib: float = Field(default=1536.0)
    """A2S: 1.5 GB by boot parameter."""
    extra_free_kb: int = Field(default=24300, ge=0)
    """`extra_free_kbytes`: three frames of 1080 x 1920 x 4 B (AOSP ProcessList)."""
    file_readahead: int = Field(default=32, ge=0)
    """Pages of 4 KiB that a file fault reads, aligned (Linux: 128 KiB)."""
    flash: str = Field(default="emmc-4.41")
    """Devices, by key of `swaplab list devices` or path."""
    io_queue: IoQueue = Field(default="reads-first")
    kernel_mib: float = Field(default=163.0)
    """Kernel, and lost: never reclaimed (Nexus 5: about 163 MB)."""
    killer: Killer = Field(default_factory=Killer)
    limits: Limits = Field(default_factory=Limits)
    nvm: str = Field(default="lpddr2-pcm")
    page_kib: int = Field(default=4, ge=0)
    """Size of a page: 4 or 16."""
    policy: str = Field(default="active-inactive:kernel=3.4")
    """Page policy, with its own parameters; Linux's swappiness is 60, and a Nexus 5 runs Linux 3.4."""
    pool_in_dram: bool = Field(default=True)
    """Compressed pages take frames, as zsmalloc takes them from the same memory. False: from memory beside it, as a control group is
    not charged for the pool of zram."""
    proactive: Proactive = Field(default_factory=Proactive)
    processor: str = Field(default="x86-64")
    """Costs of faults and copies on the processor (assumed for a phone: those of the build machine)."""
    reserved_mib: float = Field(default=193.0)
    """Kept from Linux for firmware and modem (Nexus 5: MemTotal is 1,899,508 kB of 2 GB)."""
    scan_ns: int = Field(default=200, ge=0)
    """Background reclaim's processor time for each page it looks at, in ns (assumed)."""


Prepage = str | Literal["asap"]


class Published(BaseModel):
    """"""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    crisp_percent: float | None = Field(default=None)
    """Launches of a class in percent; `negative` are those that are annoying or worse."""
    dead_within_1000_s_percent: float | None = Field(default=None)
    dead_within_2000_s_percent: float | None = Field(default=None)
    dead_within_60_s_percent: float | None = Field(default=None)
    """Stays in swap whose owner died within so many seconds, and whose owner never died, in percent."""
    negative_percent: float | None = Field(default=None)
    never_dead_percent: float | None = Field(default=None)
    noticeable_percent: float | None = Field(default=None)
    resumes_gained: float | None = Field(default=None)
    """Resumes more than without swap."""
    swap_in_mb: float | None = Field(default=None)
    """Read from swap and written to it, in MB (1e6 bytes)."""
    swap_out_mb: float | None = Field(default=None)
    unusable_percent: float | None = Field(default=None)


class Range(BaseModel):
    """Numbers from `low` to `high`, both included."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    high: float
    log: bool = Field(default=False)
    """Spaced by equal ratios in place of equal differences."""
    low: float
    steps: int = Field(default=5, ge=0)
    """How many numbers a grid takes from the range; a random design draws anywhere in it."""
    unit: str = Field(default="")
    """Written behind each number, such as `%` or `MiB`; without it, values are numbers."""


class Replay(BaseModel):
    """A page trace replayed under every policy at every memory size."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    data_read_class: str | None = Field(default=None)
    """Class of pages that are only read as data, where nothing gives it: `anonymous` or `file`."""
    file_device: str = Field(default="ufs-3.1")
    """Device under file pages."""
    filter: int | None = Field(default=None, ge=0)
    """Hits of an LRU filter of so many entries were dropped when `trace` was captured; told from its name where it says."""
    first_touch: FirstTouch | None = Field(default=None)
    """What the first touch of an anonymous page costs: `charged`, or `zero-fill` with a scheme."""
    format: str | None = Field(default=None)
    """Format of `trace`; detected where it can be."""
    mapping: Mapping = Field(default="follow")
    """Whether unmap and discard events free pages."""
    memory: OneOrMany = Field(default="10%")
    """Memory sizes: `64MiB`, `4096p`, or percent of the trace's footprint, `5%`."""
    page_size: int | None = Field(default=None, ge=0)
    """Bytes a page where `trace` does not say."""
    pages: str | None = Field(default=None)
    """Page table of `trace` (`pgcsv`)."""
    policy: OneOrMany = Field(default="clock")
    """Policies, such as `clock` or `spo-clock:mode=descriptor`."""
    scheme: OneOrMany | None = Field(default=None)
    """Swap schemes to join, such as `zram` or `nvm-direct`; without one, swap is what `swap_device` costs."""
    seconds: float | None = Field(default=None)
    """With a scheme: length of the run in seconds, for background energy and yearly wear."""
    signal: str = Field(default="exact")
    """What policies see of hits: `exact`, `reference-bit:REFERENCES` or `fault-only`."""
    swap_device: str | None = Field(default=None)
    """Device under anonymous pages: `optane-m10`, or with a scheme that of its own medium."""
    trace: str
    """A `.slt`, or any importable file; relative to the experiment file, or an address such as `s3://bucket/trace.slt`."""


class SimScheme(BaseModel):
    """One line of the comparison."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    app_policy: AppPolicy = Field(default="none")
    """Whose pages may be swapped out."""
    name: str
    policy: str | None = Field(default=None)
    """In place of the phone's page policy; `opt` knows the launches to come."""
    prepage: Prepage = Field(default="none")
    """Pages that are read when an app is started, before it asks for them."""
    proactive: Proactive | None = Field(default=None)
    """In place of the phone's proactive reclaim."""
    published: Published | None = Field(default=None)
    """A paper's figures for this scheme."""
    strict: bool = Field(default=False)
    """LVSP: weigh the average by gaps in place of launches."""
    swap: str
    """A swap scheme, such as `none` or `flash:size=1024MiB`."""
    t_launched: int = Field(default=3, ge=0)
    """LVSP: launches below which an app's pages stay (A2S: 3)."""
    t_live: float = Field(default=18.0)
    """ESS: no swap-out while so many apps live (A2S: 18)."""
    t_reuse: float | None = Field(default=64.0)
    """LVSP: average reuse distance from which an app's pages stay (A2S: 64); `inf`, in JSON null: there is none."""
    victim: Victim | None = Field(default=None)
    """In place of the killer's choice of a victim."""


class Sim(BaseModel):
    """A sequence of app launches on a simulated phone, once with each scheme."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    apps: AppModels = Field(default_factory=AppModels)
    launches: str
    """A preset or generator of `swaplab trace gen` (`large`, `zipf:apps=50,alpha=1.45`), or a trace of launches."""
    phone: Phone = Field(default_factory=Phone)
    schemes: Many[SimScheme]
    seeds: int = Field(default=8, ge=0)
    """Runs with different seeds, from the experiment's seed on; figures are means over them."""


# The values of one key.
Values = Many[Any] | Range


class Sweep(BaseModel):
    """Which points to run."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    design: Design = Field(default="grid")
    """How points are made from `vary` (`grid`, `random`) or `list`."""
    list: Many[dict[str, Any]] = Field(default_factory=list)
    """For `list`: each entry sets its keys for one point."""
    points: int | None = Field(default=None, ge=0)
    """How many points a `random` design draws."""
    vary: dict[str, Values] = Field(default_factory=dict)
    """A key of the experiment, such as `replay.memory`, and the values it takes."""


class Experiment(BaseModel):
    """One experiment: a model, what it is given, and how it is varied."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    bench: Bench | None = Field(default=None)
    """App launches on a real kernel."""
    replay: Replay | None = Field(default=None)
    """A page trace replayed under reclamation policies."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random."""
    sim: Sim | None = Field(default=None)
    """App launches on a simulated phone."""
    sweep: Sweep | None = Field(default=None)
    """Points to run in place of the one that the model's table describes."""
