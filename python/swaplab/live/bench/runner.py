"""`swaplab bench`: every scheme and swap size, in repetitions that are interleaved, so that a drift of the machine hits all alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from swaplab import BadInput, NotSupported
from swaplab.config import Bench, Experiment
from swaplab.live.bench import calibrate, disk, orderings, protocol
from swaplab.live.bench.process import User, find_program
from swaplab.live.bench.schemes import SCHEMES, Scheme
from swaplab.live.bench.spec import App, dumped, listed, memory_bytes, swap_sizes, table
from swaplab.live.bench.summary import classes, times
from swaplab.live.bench.tables import label
from swaplab.live.capabilities import require
from swaplab.live.collect.counters import meminfo
from swaplab.live.journal import Machine
from swaplab.live.knobs import swap
from swaplab.signals import stop_on_signals


@dataclass(frozen=True)
class Configuration:
    """A scheme with a swap size and an app policy; no swap has one configuration."""

    scheme: Scheme
    swap_bytes: int
    app_policy: str = "none"

    @property
    def label(self) -> str:
        """How people call it."""
        return label(self.scheme.name, self.swap_bytes, self.app_policy)


def configurations(bench: Bench, place: str) -> list[Configuration]:
    """The bench's schemes by swap sizes."""
    rows: list[Configuration] = []
    for name in listed(bench.schemes):
        if name not in SCHEMES:
            raise BadInput(f"{place}: scheme '{name}'; expected some of {', '.join(SCHEMES)}")
        sizes = swap_sizes(bench) if name != "none" else [0]
        policies = bench.app_policies if SCHEMES[name].kernel else ["none"]
        rows += [Configuration(SCHEMES[name], size, policy) for size in sizes for policy in policies]
    return rows


def run(
    experiment: Experiment,
    apps: list[App],
    user: User,
    place: str,
    dry_run: bool,
    say: Callable[[str], None],
    progress: Callable[[str], None],
    trace: Path | None = None,
) -> dict[str, Any]:
    """Run the experiment on this machine; the JSON document."""
    bench, seed = table(experiment), experiment.seed
    todo = configurations(bench, place)
    if not dry_run:
        require(sorted({need for one in todo for need in one.scheme.needs} | {"root"}), "swaplab bench on this machine")
        available = meminfo()["MemAvailable"]
        if (memory := memory_bytes(bench)) > available * 0.8:
            raise NotSupported(f"swaplab bench needs memory: {memory} bytes for the apps, of {available} available")
        stop_on_signals()
    for app in apps:
        if not app.command:
            raise BadInput(f"app {app.name}: no command; expected one for this machine (an activity is for --target adb)")
        if find_program(app.fill(app.command[0], {"dir": "", "name": app.name})) is None:
            raise BadInput(f"app {app.name}: command: '{app.command[0]}'; expected a program on the path")
    machine = Machine(dry_run=dry_run, say=say)
    outcomes: dict[int, list[protocol.Outcome]] = {number: [] for number in range(len(todo))}
    own: calibrate.Own = {}
    queue: dict[str, Any] | None = None
    costs: dict[str, dict[str, float | None]] = {}
    with machine.opened():
        setting = protocol.Setting(machine, bench, apps, user, say)
        recorded = replace(setting, trace=trace)
        if not dry_run and bench.calibrate:
            progress("calibration: this disk's queue")
            with swap.work_directory(machine) as directory:
                queue = disk.measure(directory)
            progress("calibration: each app alone")
            own = calibrate.own_times(setting)
            swapping = {one.scheme.name: one.scheme for one in todo if one.swap_bytes}.values()
            if swapping:
                micro = calibrate.micro(setting)
                own |= calibrate.own_times(micro)
            for scheme in swapping:
                progress(f"calibration: {scheme.name}")
                costs[scheme.name] = calibrate.page_costs(micro, scheme, own)
        for repetition in range(1 if dry_run else bench.repetitions):
            order = list(range(len(todo)))
            shift = repetition * len(todo) // max(bench.repetitions, 1)
            for number in order[shift:] + order[:shift]:
                progress(f"repetition {repetition + 1} of {bench.repetitions}: {todo[number].label}")
                one = todo[number]
                outcomes[number].append(protocol.run(recorded, one.scheme, one.swap_bytes, one.app_policy))
    if dry_run:
        return {"schema": 1, "kind": "dry-run", "experiment": dumped(experiment), "schemes": []}
    rows = [
        row(todo[number], outcomes[number], seed) | {"calibration": calibration(todo[number], outcomes[number], own, costs)}
        for number in outcomes
    ]
    return {
        "schema": 1,
        "kind": "measured",
        "target": "local",
        "experiment": dumped(experiment),
        "apps": [{"name": app.name, "command": app.command, "set": app.set} for app in apps],
        "user": user.name,
        "own_ms": {app.name: {"launch": round(own[app.name][0], 4), "switch": round(own[app.name][1], 4)} for app in apps if own},
        "disk": queue,
        "schemes": rows,
        "orderings": orderings.judge(rows),
    }


def calibration(
    configuration: Configuration, outcomes: list[protocol.Outcome], own: calibrate.Own, costs: dict[str, dict[str, float | None]]
) -> dict[str, Any] | None:
    """What the microbenchmarks predict of this row's visits; nothing when there was no calibration."""
    if not own:
        return None
    cost = costs.get(configuration.scheme.name, dict.fromkeys(calibrate.COSTS))
    return {**cost, **calibrate.errors([visit for outcome in outcomes for visit in outcome.visits if not visit.warm_up], own, cost)}


def row(configuration: Configuration, outcomes: list[protocol.Outcome], seed: int) -> dict[str, Any]:
    """One scheme's row: times over all repetitions, counts as means of one repetition with each repetition's own beside them."""
    everything = [visit for outcome in outcomes for visit in outcome.visits]  # cold_ms takes the warm-up's first launches too
    visits = [visit for visit in everything if not visit.warm_up]
    means = {key: sum(outcome.counts[key] for outcome in outcomes) / len(outcomes) for key in outcomes[0].counts}
    killed = [len(outcome.kills) + outcome.counts["kernel_kills"] for outcome in outcomes]
    return {
        "name": configuration.scheme.name,
        "kind": configuration.scheme.kind,
        "swap_bytes": configuration.swap_bytes,
        "app_policy": configuration.app_policy,
        "launch_ms": times([(visit.app, visit.ms) for visit in visits], seed),
        "switch_ms": times([(visit.app, visit.ms) for visit in visits if visit.what == "switch"], seed),
        "cold_ms": times([(visit.app, visit.ms) for visit in everything if visit.what == "launch"], seed),
        "ux": classes([visit.ms for visit in visits]),
        "launches": len(visits) / len(outcomes),
        "cold_starts": sum(visit.what == "launch" for visit in visits) / len(outcomes),
        "resumes": sum(visit.what == "switch" for visit in visits) / len(outcomes),
        "kills": sum(killed) / len(killed),
        "killed": killed,
        "kill_reasons": sorted({kill["reason"] for outcome in outcomes for kill in outcome.kills}),
        **{key: round(value, 1) for key, value in means.items()},
        "swapped_in": [outcome.counts["swap_in_bytes"] for outcome in outcomes],
        "swapped_out": [outcome.counts["swap_out_bytes"] for outcome in outcomes],
        "psi_scope": outcomes[0].psi_scope,
        "others_swapping": any(outcome.others_swapping for outcome in outcomes),
        "memory": {key: max(outcome.memory[key] for outcome in outcomes) for key in outcomes[0].memory},
        "apps": outcomes[-1].apps,
        "events": outcomes[-1].events,
        "throttle": outcomes[-1].throttle,
        "bad_pages": sum(outcome.bad_pages for outcome in outcomes),
        "checked_apps": sum(outcome.checked_apps for outcome in outcomes),
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 2),
        "visits": [{"repetition": number, **asdict(visit)} for number, outcome in enumerate(outcomes) for visit in outcome.visits],
        "kill_events": [{"repetition": number, **kill} for number, outcome in enumerate(outcomes) for kill in outcome.kills],
        "timeline": [{"repetition": number, **moment} for number, outcome in enumerate(outcomes) for moment in outcome.timeline],
    }
