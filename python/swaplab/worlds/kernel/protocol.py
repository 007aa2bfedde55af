"""The protocol: apps are launched and resumed in turn in one control group, under one design.

A visit to an app without a process is a cold launch (spawn to ready). A visit to a live app is a
resume (request to response), after the other apps have displaced its pages. The app is then used
for a while and left in the background, where the killer may kill it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from swaplab.core.errors import BadInput
from swaplab.worlds.channel import AppEnded, NoAnswer
from swaplab.worlds.kernel.area import Area
from swaplab.worlds.kernel.collect import events
from swaplab.worlds.kernel.collect.counters import Sample, smaps_rollup
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.kernel.killer import CACHED_LIMIT, Kill, LowMemoryKiller
from swaplab.worlds.kernel.knobs import cgroup
from swaplab.worlds.kernel.process import CACHED, FOREGROUND, PREVIOUS, Process
from swaplab.worlds.kernel.steering import Steering
from swaplab.worlds.procfs import PAGE


@dataclass(frozen=True)
class Visit:
    """A cold launch or resume."""

    round: int
    warm_up: bool
    app: str
    #: `cold` or `resume`.
    start: str
    ms: float
    swap_in_pages: int
    swap_out_pages: int
    major_faults: int
    alive: int
    direct_reads: int = 0
    #: Start of the launch or request, in ns since the start of the repetition.
    at_ns: int = 0
    #: Refaults of file-backed pages.
    file_refaults: int = 0
    #: Pages among the swapped-in ones that readahead brought, without a fault of their own.
    read_ahead_pages: int = 0


@dataclass(frozen=True)
class Death:
    """An app that the killer or the limit on cached apps killed."""

    at_ns: int
    app: str
    reason: str
    freed_bytes: int


#: Reason of a kill: a launch was killed at the group's memory limit, so a background app was killed
#: to make room for the retry.
ROOM = "room-for-launch"


@dataclass
class Outcome:
    """The measurements of one repetition of a configuration."""

    visits: list[Visit] = field(default_factory=list)
    kills: list[Death] = field(default_factory=list)
    #: Memory of the apps, and totals of the kernel's counters, at the answer to each visit.
    timeline: list[dict[str, int]] = field(default_factory=list)
    #: The kernel's counters over the rounds after the warm-up.
    counts: dict[str, int] = field(default_factory=dict)
    #: Peak bytes of each kind of memory.
    memory: dict[str, int] = field(default_factory=dict)
    #: Bytes of each live app at the end, from smaps_rollup.
    apps: dict[str, dict[str, int]] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    #: The text of the ftrace events; empty unless they were recorded.
    trace: str = ""
    throttle: dict[str, float] = field(default_factory=dict)
    bad_pages: int = 0
    checked_apps: int = 0
    psi_scope: str = "machine"
    others_swapping: bool = False
    seconds: float = 0


@dataclass
class Stage:
    """The machine set up for one configuration."""

    of: Configuration
    area: Area
    group: cgroup.Group
    limit: int
    processes: list[Process]
    killer: LowMemoryKiller
    steering: Steering
    recording: events.Recording | None = None
    #: Apps that the kernel has killed since the end of the warm-up: those that SIGKILL ended and
    #: that neither the low-memory killer, the limit on cached apps nor `launch` killed.
    kernel_killed: int = 0
    turn: int = 0
    began: float = field(default_factory=time.monotonic)
    #: The counters at the start of the repetition.
    first: Sample | None = None
    #: Maximum bytes of the area's pool and tables after any visit.
    pool: int = 0
    metadata: int = 0

    def sample(self) -> Sample:
        """Read the counters now."""
        return Sample.take(self.group, self.area.path, self.area.counts())

    def since_start(self, monotonic_s: float) -> int:
        """Convert a time of the monotonic clock to nanoseconds since the start."""
        return round((monotonic_s - self.began) * 1e9)

    def moment(self, now: Sample) -> dict[str, int]:
        """Build a row of the timeline: sizes in bytes, counts since the start."""
        assert self.first is not None
        counts = now.since(self.first)
        sizes = {f"{name}_bytes": now.stat[name] for name in ("anon", "file", "swap")}
        totals = {name: counts[name] for name in ("swap_in_bytes", "swap_out_bytes", "psi_some_us", "psi_full_us", "kernel_kills")}
        alive = sum(process.alive for process in self.processes)
        return {"at_ns": self.since_start(time.monotonic()), **sizes, "pool_bytes": self.area.pool_bytes(), "live": alive, **totals}

    def ranked(self) -> list[tuple[int, Process]]:
        """Return the live apps with Android's `oom_score_adj` in its order: 0 in the foreground,
        then the previous app, then cached apps by recency.
        """
        live = [process for process in sorted(self.processes, key=lambda used: -used.last_used) if process.alive]
        first = 0 if live and live[0].last_used == self.turn else 1
        adjustments = [FOREGROUND, PREVIOUS, *(min(CACHED + place, 999) for place in range(len(live)))]
        return list(zip(adjustments[first:], live, strict=False))

    def background(self, least: int = 1) -> Iterator[Process]:
        """Yield the live apps of at least this `oom_score_adj`, least recently used first."""
        yield from (process for oom_score_adj, process in reversed(self.ranked()) if oom_score_adj >= least)

    def visit(self, name: str, number: int, warm_up: bool, outcome: Outcome) -> Visit:
        """Bring an app to the foreground, measure the launch or resume, and use the app."""
        process = next(process for process in self.processes if process.app.name == name)
        self.turn += 1
        process.last_used = self.turn
        if not process.alive:
            self.kernel_killed += process.reap()
        for oom_score_adj, live in self.ranked():
            live.set_oom_score_adj(oom_score_adj)
        self.steering.launched(process)
        self.steering.apply()
        before = self.sample()
        start, seconds = "resume", 0.0
        if process.alive:
            try:
                seconds, bad = process.request()
                outcome.bad_pages += bad
            except AppEnded:
                # it has ended in the meantime, so this visit becomes a cold launch
                self.kernel_killed += process.reap()
        if not process.alive:
            start, seconds = "cold", self.launch(process)
        at_ns = self.since_start(time.monotonic() - seconds)
        sample = self.sample()
        after = sample.since(before)
        outcome.timeline.append(self.moment(sample))
        self.use(process, outcome)
        self._trim()
        self.group.enforce_limit(self.limit)
        self.pool, self.metadata = max(self.pool, self.area.pool_bytes()), max(self.metadata, self.area.metadata_bytes())
        return Visit(
            round=number,
            warm_up=warm_up,
            app=name,
            start=start,
            ms=seconds * 1000,
            swap_in_pages=after["swap_in_bytes"] // PAGE,
            swap_out_pages=after["swap_out_bytes"] // PAGE,
            major_faults=after["major_faults"],
            alive=sum(app.alive for app in self.processes),
            direct_reads=after["direct_reads"],
            at_ns=at_ns,
            file_refaults=after["file_refaults"],
            read_ahead_pages=after["read_ahead_pages"],
        )

    def launch(self, process: Process) -> float:
        """Launch the app cold. If the memory limit kills it, kill the least recently used other app
        and retry. Returns seconds to ready.
        """
        for _ in range(len(self.processes) + 1):
            is_only_app = next(self.background(), None) is None
            try:
                seconds = process.launch()
                self.steering.apply()
                return seconds
            except AppEnded as error:
                self.kernel_killed += process.reap()
                if is_only_app:
                    raise self._unfit(process, error) from error
                # The limit killed it: make room, unless the kernel's killer has killed the other
                # apps too.
                if other := next(self.background(), None):
                    other.kill()
                    self.killer.kills.append(Kill(other.app.name, ROOM, 0, time.monotonic()))
            except NoAnswer as error:
                wanted = f"expected its ready test within {process.app.ready_seconds:g} s"
                raise BadInput(f"app {process.app.name}: {error}; {wanted}; {process.save_log()}") from error
        raise self._unfit(process, AppEnded("it ended each time"))

    def _unfit(self, process: Process, error: Exception) -> BadInput:
        code, name = process.exit_code, process.app.name
        if code == -signal.SIGKILL:
            return BadInput(f"machine.dram: app {name} alone was killed at {self.limit} bytes; expected a limit above what one app needs")
        expected = f"expected a command that stays up; {process.save_log()}"
        return BadInput(f"app {name}: {error} (exit code {code}) before its ready test; {expected}")

    def use(self, process: Process, outcome: Outcome) -> None:
        """Use the app in the foreground for `foreground_s` seconds."""
        try:
            outcome.bad_pages += process.work()
            until = time.monotonic() + self.of.foreground_s
            while time.monotonic() < until:
                self.killer.tick()
                time.sleep(self.killer.rule.poll_ms / 1000)
        except AppEnded:
            self.kernel_killed += process.reap()
        except NoAnswer as error:
            raise BadInput(f"app {process.app.name}: work: {error}; {process.save_log()}") from error

    def _trim(self) -> None:
        """Apply Android's limit on cached apps: kill the least recently used ones beyond it."""
        limit = self.of.experiment.machine.limits.cached
        while limit is not None and len(cached := list(self.background(CACHED))) > limit:
            cached[0].kill()
            self.killer.kills.append(Kill(cached[0].app.name, CACHED_LIMIT, 0, time.monotonic()))

    def check(self, outcome: Outcome) -> None:
        """Let every live app check all its pages."""
        self.killer.armed = False
        for process in self.processes:
            if process.alive and process.app.check:
                self.turn += 1
                process.last_used = self.turn
                try:
                    outcome.bad_pages += process.check()
                    outcome.checked_apps += 1
                except AppEnded:
                    process.kill()

    def footprints(self) -> dict[str, dict[str, int]]:
        """Return the resident, proportional, anonymous and swapped bytes of each live app, summed
        over its processes.
        """
        by_app: dict[str, dict[str, int]] = {}
        for process in self.processes:
            rows = [smaps_rollup(number) for number in process.group.processes()]
            if rows:
                by_app[process.app.name] = {key: sum(row.get(key, 0) for row in rows) for key in ("Rss", "Pss", "Anonymous", "Swap")}
        return by_app

    def memory_used(self) -> dict[str, int]:
        """Return the peak bytes of each kind of memory in this configuration."""
        bytes_used = {"limit": self.limit, "peak": self.group.peak(), "pool": max(self.pool, self.area.pool_bytes())}
        return bytes_used | ({"metadata": max(self.metadata, self.area.metadata_bytes())} if self.area.paging else {})
