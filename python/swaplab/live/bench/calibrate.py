"""Calibration: microbenchmarks fitted on their own predict the launch and switch times that the protocol measures, as SwapBench's
cross-validation does. The error of the prediction is in every row.

Model: a switch takes the app's own time with everything resident plus `in_us` a page swapped in; `in_us` holds the reclaim that
a page coming in forces at a full limit. A launch takes the app's launch time without pressure plus `out_us` a page swapped out.
The apps' own times are measured alone, one app at a time; the costs of a page on three small apps of ours under the scheme.
The fit has seen no visit that it predicts; what it is told of a visit is how many pages went in and out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from swaplab.config import Use
from swaplab.live.bench import protocol
from swaplab.live.bench.schemes import SCHEMES, Scheme
from swaplab.live.bench.spec import App, load_apps
from swaplab.live.bench.summary import quantile

MIB = 2**20
#: Resident requests of an app from which its own time is the median.
REQUESTS = 3
#: Visits with fewer pages swapped in say nothing about a page's cost.
FEW_PAGES = 32

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
            switches = [process.request()[0] * 1000 for _ in range(REQUESTS)]
        found[app.name] = (launch, quantile(switches, 0.5))
    return found


def micro_apps(setting: protocol.Setting) -> list[App]:
    """Three small apps of ours that come back to a tenth, a third and two thirds of their pages."""
    shape = {"footprint": "16MiB", "launch_set": "1", "file_share": "0.1", "work": "200"}
    shares = enumerate(("0.1", "0.3", "0.6"))
    uses = [Use(use="swaplab-app", name=f"micro-{number}", set={**shape, "resume_set": share, "seed": number}) for number, share in shares]
    return load_apps(setting.bench.model_copy(update={"apps": uses, "order": "round-robin"}), "calibration")


def page_costs(setting: protocol.Setting, scheme: Scheme, own: Own) -> dict[str, float | None]:
    """Microseconds a page swapped in at a switch and a page swapped out at a launch, under this scheme, by the small apps."""
    few = {"memory": "24MiB", "rounds": 3, "warm_up_rounds": 1, "foreground_seconds": 0, "pool_memory": "extra", "live_limit": None}
    calm = setting.bench.killer.model_copy(update={"thrashing_limit": 1e9})
    bench = setting.bench.model_copy(update={**few, "order": "round-robin", "killer": calm})
    outcome = protocol.run(replace(setting, bench=bench, apps=micro_apps(setting)), scheme, 48 * MIB)
    return fit(outcome.visits, own)


def fit(visits: list[protocol.Visit], own: Own) -> dict[str, float | None]:
    """The median cost of a page over visits that moved enough of them."""
    settled = [visit for visit in visits if visit.what == "switch" and not visit.warm_up and visit.swap_in_pages >= FEW_PAGES]
    pressed = [visit for visit in visits if visit.what == "launch" and visit.swap_out_pages >= FEW_PAGES]
    costs = {
        "in_us": [(visit.ms - own[visit.app][1]) / visit.swap_in_pages for visit in settled],
        "out_us": [(visit.ms - own[visit.app][0]) / visit.swap_out_pages for visit in pressed],
    }
    return {name: round(max(0.0, quantile(rows, 0.5)) * 1000, 3) if rows else None for name, rows in costs.items()}


def errors(visits: list[protocol.Visit], own: Own, costs: dict[str, float | None]) -> dict[str, Any]:
    """How far predictions of these visits are from what was measured: the median of |predicted - measured| / measured."""
    wrong: dict[str, list[float]] = {"switch": [], "launch": []}
    for visit in visits:
        launch, switch = own[visit.app]
        if visit.what == "switch":
            predicted = switch + (costs["in_us"] or 0) * visit.swap_in_pages / 1000
        else:
            predicted = launch + (costs["out_us"] or 0) * visit.swap_out_pages / 1000
        wrong[visit.what].append(abs(predicted - visit.ms) / visit.ms)
    return {
        f"{what}_{key}": value
        for what, rows in wrong.items()
        for key, value in (("error_median", round(quantile(rows, 0.5), 4) if rows else None), ("predicted", len(rows)))
    }
