"""A measured run once more: a measurement never gives the same bytes, so the two are compared by what they say of each configuration."""

from __future__ import annotations

from typing import Any

from swaplab import BadInput
from swaplab.live.bench import spec
from swaplab.live.target import registry
from swaplab.live.target.request import Request


def measure_again(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the experiment of a bench's document on its target; a row a configuration, then beside now."""
    wanted = spec.of_bench(document["experiment"], "manifest.json: experiment")
    apps = spec.load_apps(spec.table(wanted), "manifest.json")
    user = str(document.get("user") or "")
    return beside(document, registry.run(str(document["target"]), Request(wanted, apps, "manifest.json", "", user, user == "root")))


def beside(then: dict[str, Any], now: dict[str, Any]) -> list[dict[str, Any]]:
    """Each configuration of both. They agree where the 95 % intervals of the medians of all launches meet and, in the same way, the kills
    of single repetitions; where there are no times (user-mode Linux), by the kills alone."""
    found = {_key(row): row for row in now["schemes"]}
    if found.keys() != {_key(row) for row in then["schemes"]}:
        raise BadInput("rerun: the two runs have other configurations; expected those of one experiment")
    return [_row(row, found[_key(row)]) for row in then["schemes"]]


def _key(row: dict[str, Any]) -> tuple[str, int, str]:
    return row["name"], row["swap_bytes"], row["app_policy"]


def _row(then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    spans = [_median(row) for row in (then, now)]
    timed = None not in spans
    kills = [(min(row["killed"]), max(row["killed"])) for row in (then, now)]
    return {
        "name": then["name"],
        "swap_bytes": then["swap_bytes"],
        "app_policy": then["app_policy"],
        "launch_p50_ms": {"then": then["launch_ms"]["p50"], "now": now["launch_ms"]["p50"]} if timed else None,
        "kills": {"then": then["kills"], "now": now["kills"]},
        "agree": _meet(*kills) and (not timed or _meet(*spans)),  # type: ignore[arg-type]
    }


def _median(row: dict[str, Any]) -> tuple[float, float] | None:
    times = row.get("launch_ms")
    if not times:
        return None
    low, high = times.get("p50_interval") or (times["p50"], times["p50"])
    return low, high


def _meet(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
