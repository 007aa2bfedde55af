"""A run on this machine's kernel. The configurations' repetitions alternate, so that a drift of the
machine affects all alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from swaplab.core.errors import BadInput, Failed, NotSupported
from swaplab.core.experiment import seeds
from swaplab.core.model import Calibration, Experiment
from swaplab.core.signals import stop_on_signals
from swaplab.worlds.capabilities import missing, require
from swaplab.worlds.host import this_machine
from swaplab.worlds.kernel import calibrate, disk, rows
from swaplab.worlds.kernel.configuration import Configuration, configurations
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs import swap
from swaplab.worlds.kernel.process import User
from swaplab.worlds.kernel.protocol import Outcome
from swaplab.worlds.kernel.schemes import scheme_of
from swaplab.worlds.kernel.stage import Place, repeat, stage
from swaplab.worlds.procfs import meminfo
from swaplab.worlds.result import Options, WorldResult, files_by_run
from swaplab.worlds.spawn import find_program

#: Capabilities that every scheme needs.
NEEDS = ("root",)
CGROUPS = ("cgroup-v1-memory", "cgroup-v2-memory")
#: Share of the available memory that an experiment may use.
FREE_SHARE = 0.8


@dataclass
class Run:
    """A configuration with its outcomes so far."""

    of: Configuration
    repetitions: int
    outcomes: list[Outcome] = field(default_factory=list)
    #: The error that ended its repetitions.
    failure: str | None = None


def run(points: list[Experiment], options: Options, user: User) -> WorldResult:
    """Measure every design at every point on this machine. Raises NotSupported for missing
    capabilities before any change is made.
    """
    runs = [Run(of, seeds(of.experiment, "kernel")) for of in configurations(points)]
    check([planned.of for planned in runs], options.dry_run)
    place = Place(Machine(dry_run=options.dry_run, say=options.say if options.dry_run else lambda line: None), user, options.say)
    if options.dry_run:
        with place.machine.opened():
            for planned in runs:
                repeat(place, planned.of)
        return WorldResult([])
    stop_on_signals()
    measured = Calibrations(place, options)
    with place.machine.opened():
        for planned in runs:
            if scheme_of(planned.of).tried_first:
                options.say(f"trying {planned.of.design.name}")
                with stage(place, planned.of):
                    pass
        for planned in runs:
            measured.prepare(planned.of)
        _repeat_all(place, runs, options)
    measured_rows = [rows.row(planned.of, planned.outcomes, measured.of(planned), planned.failure) for planned in runs]
    queue = measured.queue
    host = this_machine(user.name, queue.rates, queue.facts()) if queue else this_machine(user.name)
    result = WorldResult(measured_rows, host=host, warnings=_warnings(runs))
    if options.tables:
        result.tables = rows.tables([(planned.of, planned.outcomes) for planned in runs])
    result.files = files_by_run("ftrace", [(planned.of.design.name, [outcome.trace for outcome in planned.outcomes]) for planned in runs])
    return result


def needs(experiment: Experiment) -> list[str]:
    """Return the names (as in `swaplab doctor`) of the capabilities that the experiment needs on
    this machine.
    """
    return sorted({need for of in configurations([experiment]) for need in (*NEEDS, *scheme_of(of).needs)})


def check(todo: list[Configuration], dry_run: bool) -> None:
    """Raise BadInput for invalid designs, apps or sizes, then NotSupported for missing
    capabilities, before any change is made.
    """
    needed = sorted({need for of in todo for need in (*NEEDS, *scheme_of(of).needs)})
    for of in todo:
        for app in of.apps:
            if not app.ready:
                raise BadInput(f"app {app.name}: no ready test; expected an app file that has one (a bare command is for world memory)")
            if not app.command:
                raise BadInput(f"app {app.name}: no command; expected one for this machine (an activity is for target adb)")
            if find_program(app.fill(app.command[0], {"dir": "", "name": app.name})) is None:
                raise BadInput(f"app {app.name}: command: '{app.command[0]}'; expected a program on the path")
    if dry_run:
        return
    require(needed, "world kernel on this machine")
    if len(lacking := missing(CGROUPS)) == len(CGROUPS):
        raise NotSupported(f"world kernel needs {' or '.join(CGROUPS)} ({lacking[0].why})")
    available = meminfo()["MemAvailable"]
    for of in todo:
        if of.memory > available * FREE_SHARE:
            raise NotSupported(f"world kernel needs memory: {of.memory} bytes for the apps of {of.place}, of {available} available")
        for area in of.swap.areas[:1]:
            fits = swap.fits_disk if area.medium in ("flash", "sd-card") else swap.fits_memory
            fits(f"{of.place}: swap", of.swap.sizes.get("limit") or of.swap.size // (2 if area.medium == "pool" else 1))


def _repeat_all(place: Place, runs: list[Run], options: Options) -> None:
    """Run all repetitions, each starting with another configuration.

    A failure before the first result ends the run. A later one makes the row of its configuration
    invalid.
    """
    done, total = 0, sum(planned.repetitions for planned in runs)
    for repetition in range(max(planned.repetitions for planned in runs)):
        shift = repetition * len(runs) // max(planned.repetitions for planned in runs)
        for planned in runs[shift:] + runs[:shift]:
            if repetition >= planned.repetitions or planned.failure:
                continue
            options.say(f"repetition {repetition + 1} of {planned.repetitions}: {planned.of.design.name}")
            try:
                planned.outcomes.append(repeat(place, planned.of))
            except (BadInput, Failed, NotSupported) as error:
                if not any(other.outcomes for other in runs):
                    raise
                planned.failure = str(error)
            done += 1
            if options.listener:
                options.listener(done, total)


def _warnings(runs: list[Run]) -> list[str]:
    warnings = [f"{planned.of.place}: {planned.failure}" for planned in runs if planned.failure]
    if any(outcome.others_swapping for planned in runs for outcome in planned.outcomes):
        warnings.append("Another swap area was on during the run, so the kernel's counts may include other programs' pages.")
    if bad := sum(outcome.bad_pages for planned in runs for outcome in planned.outcomes):
        warnings.append(f"pages that came back with wrong content: {bad}; a defect of this kernel, this machine's memory or swaplab.")
    return warnings


@dataclass
class Calibrations:
    """Measurements before the configurations: the disk, each app alone, the cost of a page under
    each scheme.
    """

    place: Place
    options: Options
    queue: disk.Queue | None = None
    _own: dict[int, calibrate.Own] = field(default_factory=dict)
    _micro: calibrate.Own = field(default_factory=dict)
    _costs: dict[str, calibrate.Costs] = field(default_factory=dict)

    def prepare(self, of: Configuration) -> None:
        """Make the measurements for this configuration that were not made yet."""
        if not of.experiment.run.kernel.calibrate:
            return
        if self.queue is None:
            self.options.say("calibration: this disk's queue")
            with swap.work_directory(self.place.machine) as directory:
                self.queue = disk.measure(directory)
        if of.point not in self._own:
            self.options.say("calibration: each app alone")
            self._own[of.point] = calibrate.own_times(self.place, of)
        if of.swap.size and of.swap.key not in self._costs:
            self.options.say(f"calibration: {of.swap.key}")
            micro = calibrate.microbenchmark(of)
            self._micro = self._micro or calibrate.own_times(self.place, micro)
            self._costs[of.swap.key] = calibrate.page_costs(self.place, micro, self._micro)

    def of(self, planned: Run) -> Calibration | None:
        """Return the calibration with the prediction errors for this configuration's visits; None
        if there was no calibration.
        """
        if planned.of.point not in self._own or not planned.outcomes:
            return None
        visits = rows.counted([visit for outcome in planned.outcomes for visit in outcome.visits])
        costs = self._costs.get(planned.of.swap.key, dict.fromkeys(calibrate.COSTS))
        return calibrate.calibration(visits, self._own[planned.of.point], costs)
