"""The records that the guest writes to its console (crates/guest's `report.rs`), one per line."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

#: The prefix of the guest's lines.
RECORD_PREFIX = b"@swaplab "


class Record(BaseModel):
    """A record that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Watermarks(Record):
    """The watermarks in pages, summed over all zones."""

    min: int
    low: int
    high: int


class Started(Record):
    """The machine is set up."""

    record: Literal["started"]
    at_ns: int
    release: str
    memory_bytes: int
    available_bytes: int
    swap_bytes: int
    cpus: int
    watermarks: Watermarks
    #: The settings that were written, with the values that the kernel reports afterwards, by path.
    settings: dict[str, str]


class Progress(Record):
    """The number of finished visits."""

    record: Literal["progress"]
    visits: int


class Process(Record):
    """Counters of an app's process."""

    cpu_ns: int
    run_delay_ns: int
    minor_faults: int
    major_faults: int


class Waits(Record):
    """Times of an app's control group."""

    user_ns: int
    system_ns: int
    memory_ns: int
    io_ns: int
    cpu_ns: int


class Memory(Record):
    """Memory of the machine. `per_cpu_free_kb`: free pages on the processors' own lists, which
    `free_kb` leaves out.
    """

    free_kb: int
    per_cpu_free_kb: int
    file_kb: int
    anonymous_kb: int
    dirty_kb: int
    swap_total_kb: int
    swap_free_kb: int
    zram: tuple[int, int, int] | None


class Totals(Record):
    """Counters since the machine started."""

    swap_in_pages: int
    swap_out_pages: int
    psi_some_us: int
    psi_full_us: int
    kernel_kills: int


class Visit(Record):
    """A launch or resume."""

    record: Literal["visit"]
    round: int
    warm_up: bool
    app: str
    start: Literal["cold", "resume"]
    at_ns: int
    ready_ns: int
    alive: int
    bad: int
    process: Process
    waits: Waits
    kswapd_ns: int
    kernel: dict[str, int]
    so_far: Totals
    memory: Memory
    generations: list[tuple[int, int, int]]


class Kill(Record):
    """A kill."""

    record: Literal["kill"]
    at_ns: int
    app: str
    adjustment: int
    reason: Literal["low_memory", "cached_limit", "out_of_memory"]
    free_kb: int
    file_kb: int
    stall_ms: int
    swap_free_percentage: int
    resident_kb: int
    warm_up: bool


class Usage(Record):
    """Where the memory of a process is."""

    anon_kb: int
    file_kb: int
    swap_kb: int


class Compaction(Record):
    """The compaction of a cached app."""

    record: Literal["compaction"]
    at_ns: int
    took_ns: int
    app: str
    before: Usage
    after: Usage
    warm_up: bool


class Counts(Record):
    """Counters over all visits after the warm-up."""

    record: Literal["counts"]
    since_ns: int
    until_ns: int
    kernel: dict[str, int]
    killer_cpu_ns: int


class Check(Record):
    """The result of an app's check of its pages."""

    record: Literal["check"]
    app: str
    pages: int
    bad: int


class Sample(Record):
    """A memory sample: lines of the kernel's files."""

    record: Literal["sample"]
    at_ns: int
    lines: list[str]


class Trace(Record):
    """A line of the kernel's trace."""

    record: Literal["trace"]
    line: str


class Failure(Record):
    """The guest has given up."""

    record: Literal["failed"]
    message: str


class End(Record):
    """The guest has finished."""

    record: Literal["end"]
    at_ns: int


AnyRecord = Annotated[
    Started | Progress | Visit | Kill | Compaction | Counts | Check | Sample | Trace | Failure | End,
    Field(discriminator="record"),
]
_READER: TypeAdapter[AnyRecord] = TypeAdapter(AnyRecord)


def parse(line: bytes) -> AnyRecord | None:
    """Parse a line of the console; None for a line of the kernel."""
    return _READER.validate_json(line[len(RECORD_PREFIX) :]) if line.startswith(RECORD_PREFIX) else None
