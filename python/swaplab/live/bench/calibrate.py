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
from typing import Any

from swaplab.config import Use
from swaplab.live.bench import protocol
from swaplab.live.bench.schemes import SCHEMES, Scheme
from swaplab.live.bench.spec import load_apps
from swaplab.live.bench.summary import quantile

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
COSTS = ("in_us", "out_us", "file_us", "swap_wait_us", "file_wait_us")
#: Rounds of coordinate descent; five costs have settled long before.
DESCENT = 1000

Own = dict[str, tuple[float, float]]


def own_times(setting: protocol.Setting) -> Own:
    """Each app's (launch ms, switch ms) alone, with everything resident."""
    found: Own = {}
    for app in setting.apps:
        alone = replace(setting, apps=[app])
        with protocol.stage(alone, SCHEMES["none"], 0) as stage:
            process = stage.processes[0]
            launch = stage.launch(process) * 1000
            stage.use(process, protocol.Outcome())
            switches = []
            for _ in range(REQUESTS):
                bytearray(CACHES)
                switches.append(process.request()[0] * 1000)
        found[app.name] = (launch, quantile(switches, 0.5))
    return found


def micro(setting: protocol.Setting) -> protocol.Setting:
    """The microbenchmark in place of the experiment. Three apps of ours, larger together than the processor's caches by far: a tenth, a
    third and two thirds of their pages come back; half, a quarter and a tenth are a file's; 32, 8 and 2 pages are used in a row."""
    shape = {"footprint": f"{MICRO // MIB}MiB", "launch_set": "1", "work": "200"}
    kinds = enumerate((("0.1", "0.5", "32"), ("0.3", "0.25", "8"), ("0.6", "0.1", "2")))
    sets: list[dict[str, str | int | float]] = [
        {**shape, "resume_set": resume, "file_share": file, "run": run, "seed": number} for number, (resume, file, run) in kinds
    ]
    few = {
        "memory": f"{MICRO * 3 // 2 // MIB}MiB",
        "rounds": MICRO_ROUNDS,
        "warm_up_rounds": 0,
        "foreground_seconds": 0,
        "pool_memory": "extra",
        "live_limit": None,
        "order": "round-robin",
        "killer": setting.bench.killer.model_copy(update={"thrashing_limit": 1e9}),
        "apps": [Use(use="swaplab-app", name=f"micro-{one['seed']}", set=one) for one in sets],
    }
    bench = setting.bench.model_copy(update=few)
    return replace(setting, bench=bench, apps=load_apps(bench, "calibration"))


def page_costs(setting: protocol.Setting, scheme: Scheme, own: Own) -> dict[str, float | None]:
    """Microseconds a page swapped in, swapped out and read again, and a wait for either, under this scheme, by the microbenchmark."""
    return fit(protocol.run(setting, scheme, 3 * MICRO).visits, own)


def moved(visit: protocol.Visit) -> tuple[int, ...]:
    """Pages that a visit moved, and its waits, in the order of `COSTS`."""
    waits = max(0, visit.swap_in_pages - visit.read_ahead_pages)
    pages = visit.swap_in_pages, visit.swap_out_pages, visit.file_refaults
    return *pages, waits, max(0, visit.major_faults - waits)


def alone(visit: protocol.Visit, own: Own) -> float:
    """Milliseconds that the app takes with everything in memory."""
    return own[visit.app][visit.what == "switch"]


def fit(visits: list[protocol.Visit], own: Own) -> dict[str, float | None]:
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
    return {name: round(cost * 1000, 3) if there else None for name, cost, there in zip(COSTS, costs, known, strict=True)}


def errors(visits: list[protocol.Visit], own: Own, costs: dict[str, float | None]) -> dict[str, Any]:
    """How far predictions of these visits are from what was measured: the median of |predicted - measured| / measured."""
    wrong: dict[str, list[float]] = {"switch": [], "launch": []}
    for visit in visits:
        pages = zip(COSTS, moved(visit), strict=True)
        predicted = alone(visit, own) + sum((costs[name] or 0) * count for name, count in pages) / 1000
        wrong[visit.what].append(abs(predicted - visit.ms) / visit.ms)
    return {
        f"{what}_{key}": value
        for what, rows in wrong.items()
        for key, value in (("error_median", round(quantile(rows, 0.5), 4) if rows else None), ("predicted", len(rows)))
    }
