"""Runs of the world `memory`: real programs on a smaller DRAM budget each, on an unmodified kernel
and without root.
"""

from __future__ import annotations

import getpass
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from swaplab._core import span_seconds
from swaplab.core.errors import BadInput
from swaplab.core.experiment import seeds
from swaplab.core.model import Design, Experiment, LaunchFigures, Memory, MemoryDetail, Paging, Row, SeedRow, Time
from swaplab.core.signals import stop_on_signals
from swaplab.worlds.apps import App, launch_order, launch_table, load_apps, workload_name
from swaplab.worlds.capabilities import require
from swaplab.worlds.host import this_machine
from swaplab.worlds.launch_figures import classes, intervals, mean, spread
from swaplab.worlds.memory import pager
from swaplab.worlds.memory.environment import Environment, check_program, environment
from swaplab.worlds.memory.program import Program
from swaplab.worlds.procfs import PAGE
from swaplab.worlds.result import Options, WorldResult
from swaplab.worlds.spawn import find_program
from swaplab.worlds.swap import Swap, spec_text

KEY = "memory"
#: Concurrent runs on one machine would disturb each other's measurements.
PARALLEL = False
NEEDS = ("userfaultfd",)


@dataclass(frozen=True)
class Visit:
    """A launch or request; `start` is `cold` or `resume`."""

    round: int
    warm_up: bool
    app: str
    start: str
    at_ns: int
    ms: float


@dataclass
class Outcome:
    """The measurements of one repetition of a design."""

    visits: list[Visit] = field(default_factory=list)
    stats: dict[str, int] = field(default_factory=dict)
    processes: int = 0
    exit_code: int | None = None
    bad_pages: int = 0
    seconds: float = 0.0


def batches(points: list[Experiment]) -> list[list[int]]:
    """Put each point in a separate batch, as points share no work."""
    return [[index] for index in range(len(points))]


def needs(experiment: Experiment) -> list[str]:
    """Return the names (as in `swaplab doctor`) of the capabilities that the experiment needs on
    this machine.
    """
    direct = any(Swap.resolve(experiment.name, design.swap or "none", 0).reads_in_place for design in experiment.design)
    return [*NEEDS, *(["userfaultfd-wp"] if direct else [])]


def run(points: list[Experiment], options: Options) -> WorldResult:
    """Run every design at every point; rows are in that order. Raises NotSupported for missing
    capabilities before any program starts.
    """
    for point in points:
        require(needs(point), "world memory")
    todo = [(point, load_apps(point), design, environment(point, design)) for point in points for design in point.design]
    warnings = [line for point, apps, _, _ in todo for app in apps if (line := _check_app(point, app))]
    if options.dry_run:
        for _, apps, design, made in todo:
            options.say(f"{design.name}: {made.dram} bytes of DRAM each for {', '.join(app.name for app in apps)}")
        return WorldResult([])
    stop_on_signals()
    result, done = WorldResult([], warnings=list(dict.fromkeys(warnings))), []
    for number, (point, apps, design, made) in enumerate(todo):
        outcomes, repetitions = [], seeds(point, KEY)
        for repetition in range(repetitions):
            options.say(f"repetition {repetition + 1} of {repetitions}: {design.name}")
            outcomes.append(_repeat(point, apps, made))
        result.rows.append(_row(point, design, made, outcomes))
        done.append((point, design, outcomes))
        if bad := sum(outcome.bad_pages for outcome in outcomes):
            result.warnings.append(f"{design.name}: pages with wrong content: {bad}; a defect of the pager or of this machine.")
        if options.listener:
            options.listener(number + 1, len(todo))
    result.host = this_machine(getpass.getuser())
    if options.tables:
        result.tables = {"launches": _launches_table(done)}
    return result


def _check_app(point: Experiment, app: App) -> str | None:
    """Raise BadInput for an app that cannot be run here; return a warning for one that the pager
    cannot manage, else None.
    """
    program = find_program(app.fill(app.command[0], {"dir": "", "name": app.name})) if app.command else None
    if program is None:
        problem = f"command: '{app.command[0]}'" if app.command else "no command"
        raise BadInput(f"app {app.name}: {problem}; expected a program on the path")
    return check_program(point, Path(program))


def _repeat(point: Experiment, apps: list[App], made: Environment) -> Outcome:
    """Run one repetition: bare commands one after the other to completion; then apps launched and
    resumed in turn, and checked.
    """
    outcome, statistics = Outcome(), pager.new_run()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="swaplab-apps-") as folder:
        programs = {app.name: Program(app, Path(folder) / app.name, made.variables(statistics)) for app in apps}
        try:
            for program in programs.values():
                program.prepare()
            for program in programs.values():
                if not program.app.ready:
                    outcome.exit_code = program.run_to_end()[1] or outcome.exit_code or 0
            _visits(point, programs, outcome, began)
            for program in programs.values():
                if program.alive and program.app.check:
                    outcome.bad_pages += program.check()
            counted = pager.processes(statistics)
            outcome.stats, outcome.processes = pager.totals(counted), len(counted)
        finally:
            for program in programs.values():
                program.end()
            shutil.rmtree(statistics, ignore_errors=True)
    outcome.seconds = time.monotonic() - began
    return outcome


def _visits(point: Experiment, programs: dict[str, Program], outcome: Outcome, began: float) -> None:
    table = launch_table(point)
    foreground_s = span_seconds("workload.launches.foreground", table.foreground)
    interactive_apps = [program.app for program in programs.values() if program.app.ready]
    for number in range(table.warm_up + table.rounds):
        for name in launch_order(table, interactive_apps) if interactive_apps else []:
            program = programs[name]
            at_ns = round((time.monotonic() - began) * 1e9)
            if program.alive:
                start, (seconds, bad) = "resume", program.request()
            else:
                start, seconds, bad = "cold", program.launch(), 0
            outcome.visits.append(Visit(number, number < table.warm_up, name, start, at_ns, seconds * 1000))
            outcome.bad_pages += bad + program.work()
            time.sleep(foreground_s)


def _row(point: Experiment, design: Design, made: Environment, outcomes: list[Outcome]) -> Row:
    """Build the row of a design: times over all repetitions, counts as means per repetition."""
    seed, visits = point.run.seed, [visit for outcome in outcomes for visit in outcome.visits]
    launches = _figures(visits, len(outcomes), seed) if visits else None
    by_seed = [SeedRow(seed=seed + number, figures=_figures_of_repetition(outcome)) for number, outcome in enumerate(outcomes)]

    def count(name: str) -> float:
        return mean([outcome.stats[name] for outcome in outcomes])

    # The pager stores compressed pages and NVM pages in the same place and counts them together.
    pooled = any(area.medium == "pool" for area in made.swap.areas)
    store, flash = count("nvm_bytes"), count("flash_bytes")
    nvm, pool, dram = 0.0 if pooled else store, store if pooled else 0.0, float(max(o.stats["dram_peak_bytes"] for o in outcomes))
    return Row(
        world=KEY,
        kind=made.kind,
        design=design.name,
        policy=spec_text(design.policy),
        swap=made.swap.text,
        app_policy=spec_text(design.app_policy),
        killer=None,
        machine=point.machine.base,
        workload=workload_name(point),
        point={},
        seed=seed,
        seeds=len(outcomes),
        memory=Memory(
            dram_bytes=dram,
            pool_bytes=pool,
            pool_peak_bytes=pool,
            other_medium_bytes=nvm + flash,
            nvm_bytes=nvm,
            flash_bytes=flash,
            total_dram_bytes=dram + pool,
        ),
        paging=Paging(
            faults=count("faults"),
            swap_in_bytes=count("copied_pages") * PAGE,
            swap_out_bytes=count("swap_outs") * PAGE,
            copied_pages=count("copied_pages"),
            direct_reads=count("direct_reads"),
            read_ahead_pages=count("read_ahead"),
            unchanged_pages=count("unchanged"),
            swap_full=count("store_full"),
        ),
        time=Time(wall_ns=round(mean([outcome.seconds for outcome in outcomes]) * 1e9)),
        launches=launches,
        media={},
        interval=intervals(launches) if launches else {},
        by_seed=by_seed if len(by_seed) > 1 else [],
        program=MemoryDetail(
            exit_code=outcomes[-1].exit_code,
            processes=outcomes[-1].processes,
            stats={name: count(name) for name in outcomes[0].stats},
        ),
    )


def _figures(visits: list[Visit], repetitions: int, seed: int) -> LaunchFigures:
    """Compute figures of the launches after the warm-up. Cold starts include those of the warm-up.
    There are no kills in this world.
    """
    rows = [visit for visit in visits if not visit.warm_up]
    return LaunchFigures(
        count=len(rows) / repetitions,
        cold=sum(visit.start == "cold" for visit in rows) / repetitions,
        resumes=sum(visit.start == "resume" for visit in rows) / repetitions,
        delay_ms=spread([(visit.app, visit.ms) for visit in rows], seed),
        cold_ms=spread([(visit.app, visit.ms) for visit in visits if visit.start == "cold"], seed),
        resume_ms=spread([(visit.app, visit.ms) for visit in rows if visit.start == "resume"], seed),
        ux=classes([visit.ms for visit in rows], repetitions),
    )


def _figures_of_repetition(outcome: Outcome) -> dict[str, float]:
    rows = [visit.ms for visit in outcome.visits if not visit.warm_up]
    figures = {
        "paging.swap_in_bytes": float(outcome.stats["copied_pages"] * PAGE),
        "paging.swap_out_bytes": float(outcome.stats["swap_outs"] * PAGE),
        "paging.direct_reads": float(outcome.stats["direct_reads"]),
        "time.wall_ns": outcome.seconds * 1e9,
    }
    return figures | ({"launches.delay_ms.mean": mean(rows)} if rows else {})


def _launches_table(done: list[tuple[Experiment, Design, list[Outcome]]]) -> pl.DataFrame:
    rows = [
        {
            "design": design.name,
            "seed": point.run.seed + number,
            "at_ns": visit.at_ns,
            "app": visit.app,
            "start": visit.start,
            "ready_ns": round(visit.ms * 1e6),
            "round": visit.round,
            "warm_up": visit.warm_up,
        }
        for point, design, outcomes in done
        for number, outcome in enumerate(outcomes)
        for visit in outcome.visits
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
