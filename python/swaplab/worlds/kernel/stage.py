"""Setting the machine up for a configuration and restoring it, and running one repetition."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from swaplab.core.errors import BadInput
from swaplab.worlds.kernel.collect import events
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.killer import LowMemoryKiller
from swaplab.worlds.kernel.knobs import cgroup, swap
from swaplab.worlds.kernel.process import Process, User
from swaplab.worlds.kernel.protocol import Death, Outcome, Stage
from swaplab.worlds.kernel.schemes import scheme_of
from swaplab.worlds.kernel.steering import Steering


@dataclass(frozen=True)
class Place:
    """The machine on which configurations run, and the user that the apps run as."""

    machine: Machine
    user: User
    say: Callable[[str], None] = lambda line: None


def repeat(place: Place, of: Configuration) -> Outcome:
    """Run one repetition of a configuration: set the machine up, run the protocol, restore the
    machine.
    """
    outcome = Outcome()
    with stage(place, of, of.experiment.run.kernel.events) as prepared:
        if place.machine.dry_run:
            for process in prepared.processes:
                place.say(f"as {place.user.name}: {' '.join(process.command())}")
            return outcome
        first = prepared.first = prepared.sample()
        warm_up, rounds = of.table.warm_up, of.table.warm_up + of.table.rounds
        for number in range(rounds):
            if number == warm_up:
                first, prepared.killer.kills, prepared.kernel_killed = prepared.sample(), [], 0
            for name in of.order:
                outcome.visits.append(prepared.visit(name, number, number < warm_up, outcome))
        last = prepared.sample()
        # If apps have control groups of their own, kills are counted there and may be missing in
        # the common group.
        outcome.counts = last.since(first)
        outcome.counts["kernel_kills"] = max(outcome.counts["kernel_kills"], prepared.kernel_killed)
        kills = prepared.killer.kills
        outcome.kills = [Death(prepared.since_start(kill.at_s), kill.app, kill.reason, kill.freed_bytes) for kill in kills]
        outcome.psi_scope, outcome.others_swapping = last.pressure_scope, first.others_swapping or last.others_swapping
        outcome.memory, outcome.apps, outcome.throttle = prepared.memory_used(), prepared.footprints(), prepared.area.throttle
        if prepared.recording:
            outcome.trace = prepared.recording.text()
            outcome.events = {**events.count(events.parse(outcome.trace)), "lost": prepared.recording.lost()}
        prepared.check(outcome)
        outcome.seconds = time.monotonic() - prepared.began
    return outcome


@contextmanager
def stage(place: Place, of: Configuration, recorded: bool = False) -> Iterator[Stage]:
    """Set the machine up for a configuration; restore it on exit."""
    machine, kernel = place.machine, of.experiment.machine.kernel
    with ExitStack() as stack:
        directory = stack.enter_context(swap.work_directory(machine))
        stack.enter_context(swap.read_ahead(machine, directory.parent, of.read_ahead_kib))
        area = stack.enter_context(scheme_of(of).on(machine, of, directory))
        limit = of.memory - (area.reserved_bytes if of.experiment.run.kernel.pool == "within" else 0)
        if limit <= 0:
            taken = f"{of.swap.key} takes {area.reserved_bytes} of them"
            raise BadInput(f"{of.place}: machine.dram: {of.memory} bytes, and {taken}; expected more than {of.swap.key} takes")
        swap_bytes = of.swap.size
        group = stack.enter_context(cgroup.group(machine, "kernel", limit, swap_bytes, area.paging, of.steers))
        parent, joined = stack.enter_context(cgroup.members(machine, group, of.steers))
        if joined and not machine.dry_run:
            group.swap_allowed(bool(area.path), of.swappiness)
        if area.path and kernel.page_cluster is not None:
            stack.enter_context(swap.setting(machine, "/proc/sys/vm/page-cluster", str(kernel.page_cluster)))
        processes: list[Process] = []
        steering = Steering(of.app_policy(), processes, of.swappiness, bool(area.path))
        rule = of.killer(limit)
        killer = LowMemoryKiller(rule, group, limit, swap_bytes, lambda least: made.background(least), steering.swappable_bytes)
        made = Stage(of, area, group, limit, processes, killer, steering)
        if recorded:
            made.recording = stack.enter_context(events.recording(machine))
        for app in of.apps:
            own = stack.enter_context(cgroup.child(machine, parent, app.name))
            log = directory / f"{app.name}.log"
            groups = (*area.groups, *joined)
            process = Process(app, place.user, directory / app.name, log, own, killer.tick, rule.poll_ms / 1000, area.environment, groups)
            if not machine.dry_run:
                process.prepare()
                if not joined and (of.steers or group.version == 1):
                    own.swap_allowed(bool(area.path), of.swappiness)
            processes.append(process)
        try:
            yield made
        finally:
            for process in processes:
                if not machine.dry_run:
                    process.kill()
