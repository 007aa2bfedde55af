"""Calibration: microbenchmarks fitted on their own predict the launch and switch times that the protocol measures, as SwapBench's
cross-validation does. The error of the prediction is in every row.

Model: a switch takes the app's own time with everything resident, a launch its own time without pressure, and to either comes a cost for
each page that was swapped in, swapped out or read again from a file meanwhile, and for each wait for the swap area or for a file (a major
fault: the kernel's read-ahead brings other pages with it): `COSTS`, none below zero.
The apps' own times are measured alone, one app at a time; the costs of a page on three small apps of ours under the scheme, by least
squares of the ratio's logarithm. The fit has seen no visit that it predicts; what it is told of a visit is how many pages moved.
"""

from __future__ import annotations

from dataclasses import replace

from swaplab.core.model import Calibration, LaunchTable, Use
from swaplab.core.statistics import quantile
from swaplab.worlds.apps import load_apps
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.kernel.protocol import Outcome, Visit
from swaplab.worlds.kernel.stage import Place, repeat, stage

MIB = 2**20
#: Resident requests of an app from which its own time is the median.
REQUESTS = 9
#: Bytes written between them: other apps' use leaves nothing of an app in the processor's caches, but all of it in memory.
CACHES = 128 * MIB
#: Visits that moved fewer pages say nothing about a page's cost.
FEW_PAGES = 32
MICRO_ROUNDS = 10
#: Bytes of each of the three apps.
MICRO = 64 * MIB
COSTS = ("in", "out", "file", "swap_wait", "file_wait")
#: Rounds of coordinate descent; five costs have settled long before.
DESCENT = 1000

#: Milliseconds of each app's launch and switch.
Own = dict[str, tuple[float, float]]
#: Nanoseconds by name of `COSTS`; None where nothing moved.
Costs = dict[str, float | None]


def own_times(place: Place, of: Configuration) -> Own:
    """Each app's (launch ms, switch ms) alone, with everything resident."""
    own: Own = {}
    bare = of.design.model_copy(update={"swap": "none", "app_policy": "none"})
    for app in of.apps:
        alone = Configuration.of(of.point, of.experiment, bare, [app])
        with stage(place, alone) as stand:
            process = stand.processes[0]
            launch = stand.launch(process) * 1000
            stand.use(process, Outcome())
            switches = []
            for _ in range(REQUESTS):
                bytearray(CACHES)
                switches.append(process.request()[0] * 1000)
        own[app.name] = (launch, quantile(switches, 0.5))
    return own


def micro(of: Configuration) -> Configuration:
    """The microbenchmark in place of the experiment. Three apps of ours, larger together than the processor's caches by far: a tenth, a
    third and two thirds of their pages come back; half, a quarter and a tenth are a file's; 32, 8 and 2 pages are used in a row."""
    shape = {"footprint": f"{MICRO // MIB}MiB", "launch_set": "1", "work": "200"}
    kinds = enumerate((("0.1", "0.5", "32"), ("0.3", "0.25", "8"), ("0.6", "0.1", "2")))
    sets = [{**shape, "resume_set": resume, "file_share": file, "run": run, "seed": number} for number, (resume, file, run) in kinds]
    apps = [Use.model_validate({"use": "swaplab-app", "name": f"micro-{settings['seed']}", **settings}) for settings in sets]
    experiment = of.experiment.model_copy(deep=True)
    experiment.machine.dram = f"{MICRO * 3 // 2 // MIB}MiB"
    experiment.machine.limits.cached = None
    experiment.run.kernel.pool, experiment.run.kernel.events = "extra", False
    experiment.workload.apps = apps
    experiment.workload.launches = LaunchTable(rounds=MICRO_ROUNDS, warm_up=0, foreground="0")
    design = of.design.model_copy(update={"app_policy": "none", "killer": "off"})
    made = Configuration.of(of.point, experiment, design, load_apps(experiment))
    size = 3 * MICRO
    return replace(made, swap=made.swap.model_copy(update={"sizes": made.swap.sizes | {area.parameter: size for area in made.swap.areas}}))


def page_costs(place: Place, of: Configuration, own: Own) -> Costs:
    """Nanoseconds a page swapped in, swapped out and read again, and a wait for either, by the microbenchmark under its scheme."""
    return fit(repeat(place, of).visits, own)


def calibration(visits: list[Visit], own: Own, costs: Costs) -> Calibration:
    """What was measured apart, and how far predictions of these visits are from what was measured."""
    apps = {visit.app for visit in visits}
    return Calibration(costs_ns=costs, own_ms={app: own[app] for app in sorted(apps)}, errors=errors(visits, own, costs))


def moved(visit: Visit) -> tuple[int, ...]:
    """Pages that a visit moved, and its waits, in the order of `COSTS`."""
    waits = max(0, visit.swap_in_pages - visit.read_ahead_pages)
    pages = visit.swap_in_pages, visit.swap_out_pages, visit.file_refaults
    return *pages, waits, max(0, visit.major_faults - waits)


def alone(visit: Visit, own: Own) -> float:
    """Milliseconds that the app takes with everything in memory."""
    return own[visit.app][visit.start == "resume"]


def fit(visits: list[Visit], own: Own) -> Costs:
    """Costs of a page, none below zero, by least squares of the ratio's logarithm: a visit predicted at half its time weighs as much as
    one predicted at twice. None for what no visit moved."""
    rows = [(visit.ms, alone(visit, own), moved(visit)) for visit in visits if sum(moved(visit)[:3]) >= FEW_PAGES]
    costs = [0.0] * len(COSTS)
    for _ in range(DESCENT):
        for kind in range(len(COSTS)):
            pull = weight = 0.0
            for ms, base, pages in rows:
                predicted = base + sum(cost * count for cost, count in zip(costs, pages, strict=True))
                each = pages[kind] / (ms * predicted)
                pull, weight = pull + (ms - predicted) * each, weight + pages[kind] * each
            if weight:
                costs[kind] = max(0.0, costs[kind] + pull / weight)
    known = [any(pages[kind] for _, _, pages in rows) for kind in range(len(COSTS))]
    return {name: round(cost * 1e6, 3) if there else None for name, cost, there in zip(COSTS, costs, known, strict=True)}


def errors(visits: list[Visit], own: Own, costs: Costs) -> dict[str, float | None]:
    """How far predictions of these visits are from what was measured: the median of |predicted - measured| / measured in percent."""
    wrong: dict[str, list[float]] = {"switch": [], "launch": []}
    for visit in visits:
        pages = zip(COSTS, moved(visit), strict=True)
        predicted = alone(visit, own) + sum((costs[name] or 0) * count for name, count in pages) / 1e6
        wrong["switch" if visit.start == "resume" else "launch"].append(100 * abs(predicted - visit.ms) / visit.ms)
    medians: dict[str, float | None] = {start: round(quantile(rows, 0.5), 2) if rows else None for start, rows in wrong.items()}
    return medians | {f"{start}_visits": float(len(rows)) for start, rows in wrong.items()}
