"""The protocol: apps launched and switched to in turn inside one control group, under one scheme and one swap size.

A visit to an app that is not alive is a cold launch (spawn to ready); to one that is, a switch (request to response, its pages having
been pushed out meanwhile by the others). Then it is used for a while and left in the background, where the killer may take it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swaplab import BadInput
from swaplab.config import Bench
from swaplab.live.bench.area import Area
from swaplab.live.bench.channel import Gone, Silent
from swaplab.live.bench.killer import Kill, LowMemoryKiller
from swaplab.live.bench.process import CACHED, FOREGROUND, PREVIOUS, Process, User
from swaplab.live.bench.schemes import Scheme
from swaplab.live.bench.spec import App, launches, memory_bytes
from swaplab.live.bench.steering import Steering
from swaplab.live.collect import events
from swaplab.live.collect.counters import PAGE, Sample, smaps_rollup
from swaplab.live.journal import Machine
from swaplab.live.knobs import cgroup, swap


@dataclass(frozen=True)
class Visit:
    """One launch or switch."""

    round: int
    warm_up: bool
    app: str
    what: str
    ms: float
    swap_in_pages: int
    swap_out_pages: int
    major_faults: int
    alive: int
    direct_reads: int = 0
    #: When the launch or request began, since the start of its configuration's run.
    at_ns: int = 0
    #: Pages of files that had been in memory before and were read again.
    file_refaults: int = 0
    #: Of the pages swapped in, those that were read ahead, without a fault of their own.
    read_ahead_pages: int = 0


@dataclass
class Setting:
    """What every configuration of a run needs."""

    machine: Machine
    bench: Bench
    apps: list[App]
    user: User
    say: Callable[[str], None] = lambda line: None
    #: Where the kernel's swap and block events go, one file a configuration; nowhere by default.
    trace: Path | None = None


@dataclass
class Outcome:
    """What one configuration gave."""

    visits: list[Visit] = field(default_factory=list)
    kills: list[dict[str, Any]] = field(default_factory=list)
    #: What the apps held, and totals of the kernel's counts, as each visit was answered.
    timeline: list[dict[str, int]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    #: Bytes of each living app at the end, by smaps_rollup.
    apps: dict[str, dict[str, int]] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    throttle: dict[str, float] | None = None
    bad_pages: int = 0
    checked_apps: int = 0
    psi_scope: str = "machine"
    others_swapping: bool = False
    seconds: float = 0


def run(setting: Setting, scheme: Scheme, size: int, policy: str = "none") -> Outcome:
    """Run one configuration from a clean machine back to a clean machine."""
    outcome = Outcome()
    with stage(setting, scheme, size, policy) as stand:
        if setting.machine.dry_run:
            for process in stand.processes:
                setting.say(f"as {setting.user.name}: {' '.join(process.command())}")
            return outcome
        first = stand.first = stand.sample()
        rounds = setting.bench.warm_up_rounds + setting.bench.rounds
        for number in range(rounds):
            warm_up = number < setting.bench.warm_up_rounds
            if number == setting.bench.warm_up_rounds:
                first, stand.killer.kills = stand.sample(), []
            for name in stand.order:
                visit = stand.visit(name, number, warm_up, outcome)
                outcome.visits.append(visit)
        last = stand.sample()
        outcome.counts = last.since(first)
        outcome.kills = [
            {"at_ns": stand.since_start(kill.at_s), "app": kill.app, "reason": kill.reason, "freed_bytes": kill.freed_bytes}
            for kill in stand.killer.kills
        ]
        outcome.psi_scope, outcome.others_swapping = last.pressure_scope, first.others_swapping or last.others_swapping
        outcome.memory, outcome.apps, outcome.throttle = stand.memory_used(), stand.footprints(), stand.area.throttle
        if stand.recording:
            outcome.events = _keep(setting, stand.recording, f"{scheme.name}-{size}-{policy}")
        stand.check(outcome)
        outcome.seconds = time.monotonic() - stand.began
    return outcome


def _keep(setting: Setting, recording: events.Recording, label: str) -> dict[str, int]:
    text = recording.text()
    assert setting.trace is not None
    (setting.trace / f"{label}.ftrace").write_text(text)
    return {**events.count(events.parse(text)), "lost": recording.lost()}


@dataclass
class Stage:
    """The machine set up for one configuration."""

    setting: Setting
    area: Area
    group: cgroup.Group
    limit: int
    size: int
    processes: list[Process]
    order: list[str]
    killer: LowMemoryKiller
    steering: Steering
    recording: events.Recording | None = None
    turn: int = 0
    began: float = field(default_factory=time.monotonic)
    #: The counters at the start.
    first: Sample | None = None
    #: The most that the area's memory was after any visit.
    pool: int = 0

    def sample(self) -> Sample:
        """The counters now."""
        return Sample.take(self.group, self.area.path, self.area.counts())

    def since_start(self, monotonic_s: float) -> int:
        """Nanoseconds from the start to that moment."""
        return round((monotonic_s - self.began) * 1e9)

    def moment(self, now: Sample) -> dict[str, int]:
        """A row of the timeline: sizes in bytes, counts since the start."""
        assert self.first is not None
        counts = now.since(self.first)
        sizes = {f"{name}_bytes": now.stat[name] for name in ("anon", "file", "swap")}
        totals = {name: counts[name] for name in ("swap_in_bytes", "swap_out_bytes", "psi_some_us", "psi_full_us", "kernel_kills")}
        alive = sum(process.alive for process in self.processes)
        return {"at_ns": self.since_start(time.monotonic()), **sizes, "pool_bytes": self.area.pool_bytes(), "live": alive, **totals}

    def background(self) -> Iterator[Process]:
        """Apps alive and not in front, the one used longest ago first."""
        alive = [process for process in self.processes if process.alive and process.last_used != self.turn]
        yield from sorted(alive, key=lambda process: process.last_used)

    def visit(self, name: str, number: int, warm_up: bool, outcome: Outcome) -> Visit:
        """Bring one app to the front, measure it, use it."""
        process = next(process for process in self.processes if process.app.name == name)
        self.turn += 1
        process.last_used = self.turn
        if not process.alive:
            process.forget()
        self._rank()
        self.steering.launched(name)
        self.steering.apply(self.processes)
        before = self.sample()
        what, seconds = "switch", 0.0
        if process.alive:
            try:
                seconds, bad = process.request()
                outcome.bad_pages += bad
            except Gone:
                process.kill()  # the kernel's killer was faster: this visit is a cold launch after all
        if not process.alive:
            what, seconds = "launch", self.launch(process)
        at_ns = self.since_start(time.monotonic() - seconds)
        sample = self.sample()
        after = sample.since(before)
        outcome.timeline.append(self.moment(sample))
        self.use(process, outcome)
        self._trim()
        self.group.settle(self.limit)
        self.pool = max(self.pool, self.area.pool_bytes())
        alive = sum(one.alive for one in self.processes)
        pages_in, pages_out = after["swap_in_bytes"] // PAGE, after["swap_out_bytes"] // PAGE
        counts = (pages_in, pages_out, after["major_faults"], alive, after["direct_reads"])
        return Visit(number, warm_up, name, what, seconds * 1000, *counts, at_ns, after["file_refaults"], after["read_ahead_pages"])

    def launch(self, process: Process) -> float:
        """Start it cold, the weakest others giving way if the limit kills it; seconds to ready."""
        for _ in range(len(self.processes) + 1):
            alone = next(self.background(), None) is None
            try:
                seconds = process.launch()
                self.steering.apply(self.processes)
                return seconds
            except Gone as error:
                process.kill()
                if alone:
                    raise self._unfit(process, error) from error
                # It died of the limit: make room, unless the kernel's killer has taken the others, too.
                if other := next(self.background(), None):
                    other.kill()
            except Silent as error:
                wanted = f"expected its ready test within {process.app.ready_seconds:g} s"
                raise BadInput(f"app {process.app.name}: {error}; {wanted}; {process.last_words()}") from error
        raise self._unfit(process, Gone("it ended each time"))

    def _unfit(self, process: Process, error: Exception) -> BadInput:
        code, name = process.exit_code, process.app.name
        if code == -signal.SIGKILL:
            return BadInput(f"memory: app {name} alone was killed at {self.limit} bytes; expected a limit above what one app needs")
        expected = f"expected a command that stays up; {process.last_words()}"
        return BadInput(f"app {name}: {error} (exit code {code}) before its ready test; {expected}")

    def use(self, process: Process, outcome: Outcome) -> None:
        """Use the app in front for a while."""
        try:
            outcome.bad_pages += process.work()
            until = time.monotonic() + self.setting.bench.foreground_seconds
            while time.monotonic() < until:
                self.killer.tick()
                time.sleep(self.killer.settings.poll_ms / 1000)
        except Gone:
            process.kill()
        except Silent as error:
            raise BadInput(f"app {process.app.name}: work: {error}; {process.last_words()}") from error

    def _trim(self) -> None:
        limit = self.setting.bench.live_limit
        while limit and sum(process.alive for process in self.processes) > limit:
            victim = next(self.background())
            victim.kill()
            self.killer.kills.append(Kill(victim.app.name, "CACHED_LIMIT", 0, time.monotonic()))

    def _rank(self) -> None:
        ranked = [process for process in sorted(self.processes, key=lambda one: -one.last_used) if process.alive]
        for place, process in enumerate(ranked):
            process.importance(FOREGROUND if place == 0 else PREVIOUS if place == 1 else min(CACHED + place, 999))

    def check(self, outcome: Outcome) -> None:
        """Every living app checks all that it holds."""
        self.killer.armed = False
        for process in self.processes:
            if process.alive and process.app.check:
                self.turn += 1
                process.last_used = self.turn
                try:
                    outcome.bad_pages += process.check()
                    outcome.checked_apps += 1
                except Gone:
                    process.kill()

    def footprints(self) -> dict[str, dict[str, int]]:
        """Resident, proportional, anonymous and swapped bytes of each living app, its processes summed."""
        found: dict[str, dict[str, int]] = {}
        for process in self.processes:
            rows = [smaps_rollup(number) for number in process.group.processes()]
            if rows:
                found[process.app.name] = {key: sum(row.get(key, 0) for row in rows) for key in ("Rss", "Pss", "Anonymous", "Swap")}
        return found

    def memory_used(self) -> dict[str, int]:
        """Bytes of each kind of memory this configuration used; `total_bytes` is what a phone would need to have."""
        pool = max(self.pool, self.area.pool_bytes())
        return {
            "limit_bytes": self.limit,
            "peak_bytes": self.group.peak(),
            "pool_bytes": pool,
            "medium_bytes": self.area.medium_bytes,
            "total_bytes": self.limit + pool,
        }


@contextmanager
def stage(setting: Setting, scheme: Scheme, size: int, policy: str = "none") -> Iterator[Stage]:
    """Set the machine up for one configuration, and back."""
    bench, machine = setting.bench, setting.machine
    memory = memory_bytes(bench)
    with ExitStack() as stack:
        directory = stack.enter_context(swap.work_directory(machine))
        stack.enter_context(swap.read_ahead(machine, directory.parent, bench.read_ahead_kb))
        area = stack.enter_context(scheme.on(machine, bench, directory, size))
        limit = memory - (area.reserved_bytes if bench.pool_memory == "within" else 0)
        if limit <= 0:
            raise BadInput(f"memory: {memory} bytes are less than the {area.reserved_bytes} that {scheme.name} takes of them")
        swap_bytes = size if area.path or area.paging else 0
        apart = any(policy != "none" for policy in bench.app_policies)  # A2S steers each app's memory by itself
        group = stack.enter_context(cgroup.group(machine, "bench", limit, swap_bytes, area.paging, apart))
        parent, joined = stack.enter_context(cgroup.members(machine, group, apart))
        if joined and not machine.dry_run:
            group.swap_allowed(bool(area.path), bench.swappiness)
        if area.path and bench.page_cluster is not None:
            stack.enter_context(swap.setting(machine, "/proc/sys/vm/page-cluster", str(bench.page_cluster)))
        processes: list[Process] = []
        steering = Steering(policy, bench.swappiness, bool(area.path))
        made = Stage(
            setting,
            area,
            group,
            limit,
            swap_bytes,
            processes,
            launches(bench, setting.apps),
            LowMemoryKiller(bench.killer, group, limit, swap_bytes, lambda: made.background(), lambda: steering.swappable(processes)),
            steering,
        )
        if setting.trace is not None:
            made.recording = stack.enter_context(events.recording(machine))
        for app in setting.apps:
            own = stack.enter_context(cgroup.child(machine, parent, app.name))
            log = directory / f"{app.name}.log"
            pause = bench.killer.poll_ms / 1000
            groups = (*area.groups, *joined)
            process = Process(app, setting.user, directory / app.name, log, own, made.killer.tick, pause, area.environment, groups)
            if not machine.dry_run:
                process.prepare()
                if not joined and (apart or group.version == 1):
                    own.swap_allowed(bool(area.path), bench.swappiness)
            processes.append(process)
        try:
            yield made
        finally:
            for process in processes:
                if not machine.dry_run:
                    process.kill()
