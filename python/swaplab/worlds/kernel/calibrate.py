"""Calibration: a cost model fitted to microbenchmarks predicts the launch and switch times that the
protocol measures, as in SwapBench's cross-validation. Every row reports the error of the
prediction.

Model: the time of a switch is the app's time with all pages resident, that of a launch its time
without memory pressure. Added to it are costs (`COSTS`, non-negative) for each page that was
swapped in, swapped out or refaulted from a file meanwhile, and for each wait for the swap area or
for a file (a major fault; readahead brings other pages with it).
The base times are measured with one app at a time; the costs on three small instances of
`swaplab-app` under the scheme, by least squares on the logarithm of the ratio. The predicted visits
are not part of the fit; the prediction uses only their page counts.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from swaplab.core.model import Calibration, LaunchTable, Use
from swaplab.worlds.apps import load_apps
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.kernel.protocol import Outcome, Visit
from swaplab.worlds.kernel.stage import Place, repeat, stage

MIB = 2**20
#: Requests to the resident app whose median is its base time.
REQUESTS = 9
#: Bytes written between requests, to evict the app from the processor's caches as other apps would
#: while its pages stay resident.
CACHES = 128 * MIB
#: Visits that moved fewer pages are not used in the fit.
FEW_PAGES = 32
MICRO_ROUNDS = 10
#: Bytes of each of the three apps.
MICRO = 64 * MIB
COSTS = ("in", "out", "file", "swap_wait", "file_wait")
#: Rounds of coordinate descent; five costs converge in fewer.
DESCENT = 1000

#: Milliseconds of each app's launch and switch.
Own = dict[str, tuple[float, float]]
#: Nanoseconds by name of `COSTS`; None if no visit had any.
Costs = dict[str, float | None]


def own_times(place: Place, of: Configuration) -> Own:
    """Measure each app's base times (launch ms, switch ms): alone, with all its pages resident."""
    own: Own = {}
    bare = of.design.model_copy(update={"swap": "none", "app_policy": "none"})
    for app in of.apps:
        configuration = Configuration.of(of.point, of.experiment, bare, [app])
        with stage(place, configuration) as prepared:
            process = prepared.processes[0]
            launch = prepared.launch(process) * 1000
            prepared.use(process, Outcome())
            switches = []
            for _ in range(REQUESTS):
                bytearray(CACHES)
                switches.append(process.request()[0] * 1000)
        own[app.name] = (launch, median(switches))
    return own


def microbenchmark(of: Configuration) -> Configuration:
    """Return the configuration of the microbenchmark: three instances of `swaplab-app`, together
    much larger than the processor's caches.

    Their resume sets are 10, 30 and 60 % of their pages; 50, 25 and 10 % are file-backed; runs of
    adjacent pages are 32, 8 and 2 long.
    """
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
    """Measure the costs in ns of a page swapped in, swapped out and refaulted, and of waits, with
    the microbenchmark under its scheme.
    """
    return fit(repeat(place, of).visits, own)


def calibration(visits: list[Visit], own: Own, costs: Costs) -> Calibration:
    """Combine base times, costs, and the errors of the predictions for these visits."""
    apps = {visit.app for visit in visits}
    return Calibration(costs_ns=costs, own_ms={app: own[app] for app in sorted(apps)}, errors=errors(visits, own, costs))


def moved_pages(visit: Visit) -> tuple[int, ...]:
    """Return the pages that a visit moved, and its waits, in the order of `COSTS`."""
    waits = max(0, visit.swap_in_pages - visit.read_ahead_pages)
    pages = visit.swap_in_pages, visit.swap_out_pages, visit.file_refaults
    return *pages, waits, max(0, visit.major_faults - waits)


def base_ms(visit: Visit, own: Own) -> float:
    """Return the app's base time in ms: its time with all pages in memory."""
    return own[visit.app][visit.start == "resume"]


def fit(visits: list[Visit], own: Own) -> Costs:
    """Fit non-negative costs by least squares on the logarithm of the ratio: predictions of half
    and twice the measured time weigh equally.

    The cost is None for a kind of which no visit had any.
    """
    rows = [(visit.ms, base_ms(visit, own), moved_pages(visit)) for visit in visits if sum(moved_pages(visit)[:3]) >= FEW_PAGES]
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
    """Compute the errors of the predictions for these visits: the median of |predicted - measured|
    / measured in percent.
    """
    wrong: dict[str, list[float]] = {"switch": [], "launch": []}
    for visit in visits:
        pages = zip(COSTS, moved_pages(visit), strict=True)
        predicted = base_ms(visit, own) + sum((costs[name] or 0) * count for name, count in pages) / 1e6
        wrong["switch" if visit.start == "resume" else "launch"].append(100 * abs(predicted - visit.ms) / visit.ms)
    medians: dict[str, float | None] = {start: round(median(rows), 2) if rows else None for start, rows in wrong.items()}
    return medians | {f"{start}_visits": float(len(rows)) for start, rows in wrong.items()}
