"""The options that runs tried: what was set, what was the same beside it, and what each user or trace got.

A unit is what evidence is counted in: a user (a launch sequence, with its seed where it is generated), a trace, or on the real kernel an
app. Launches of one user, or sizes of one trace, are no independent witnesses.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from swaplab import BadInput
from swaplab.recommend.knobs import Settings, of_phone, of_policy, of_swap

#: Outcomes, less is better: key -> words and unit. What a document of one kind has is compared; the first of a document is its goal.
OUTCOMES = {
    "launch_ms": "launch time",
    "stall_ms": "stall time",
    "cold_starts": "cold starts",
    "kills": "kills",
    "flash_write_bytes": "bytes written to flash",
    "nvm_write_bytes": "bytes written to NVM",
    "energy_j": "energy",
    "dram_total_bytes": "DRAM in all",
}


@dataclass(frozen=True)
class Option:
    """`beside`: all that is no setting, as text: options are compared where it is equal. `outcomes`: by unit, then by outcome."""

    name: str
    kind: str
    settings: Settings
    beside: str
    outcomes: dict[str, dict[str, float]] = field(default_factory=dict)


def options(document: dict[str, Any], place: str) -> list[Option]:
    """Every option of a run's document."""
    if isinstance(document.get("runs"), list):
        return [one for part in document["runs"] for one in options(part, place)]
    experiment = document.get("experiment") if isinstance(document.get("experiment"), dict) else {}
    if isinstance(document.get("sweep"), dict):
        found = _of_sweep(document, experiment or {})
    elif isinstance(document.get("schemes"), list) and (experiment or {}).get("sim"):
        found = _of_sim(document, experiment or {})
    elif isinstance(document.get("schemes"), list):
        found = _of_bench(document)
    elif isinstance(document.get("points"), list) and document["points"] and isinstance(document["points"][0].get("scheme"), dict):
        found = _of_replay(document)
    else:
        raise BadInput(f"{place}: nothing to recommend from; expected a run of sim, bench or sweep, or a replay with --scheme")
    return list(_joined(found))


def _joined(found: Iterator[Option]) -> Iterator[Option]:
    """Options with equal settings and surroundings as one, their units together."""
    together: dict[str, Option] = {}
    for one in found:
        key = json.dumps([one.settings, one.beside, one.kind], sort_keys=True)
        together.setdefault(key, Option(one.name, one.kind, one.settings, one.beside)).outcomes.update(one.outcomes)
    yield from together.values()


def join(parts: list[list[Option]]) -> list[Option]:
    """The options of several runs: the same option in two runs has the units of both."""
    return list(_joined(one for part in parts for one in part))


def _of_sim(document: dict[str, Any], experiment: dict[str, Any]) -> Iterator[Option]:
    table, inputs = experiment["sim"], document.get("inputs", {})
    described = {scheme["name"]: scheme for scheme in table["schemes"]}
    for row in document["schemes"]:
        settings, beside = _sim_settings(table, described[row["name"]])
        yield Option(row["name"], str(document["kind"]), settings, beside, _sim_units(row, table["launches"], inputs))


def _sim_settings(table: dict[str, Any], scheme: dict[str, Any]) -> tuple[Settings, str]:
    phone, rest = of_phone(table["phone"])
    swap, left = of_swap(scheme["swap"])
    gate = {key: value for key, value in scheme.items() if key not in ("name", "swap")}
    return phone | swap, json.dumps([rest, left, gate, table["apps"]], sort_keys=True)


def _sim_units(row: dict[str, Any], launches: str, inputs: dict[str, str]) -> dict[str, dict[str, float]]:
    """Generated launches: a seed is a user. Recorded ones: one user, whatever seeds draw the sizes of the apps."""
    dram = float(row["memory"]["dram_total_bytes"]) if isinstance(row.get("memory"), dict) else float(row["dram_total_bytes"])
    outcomes = [_outcomes(one) | {"dram_total_bytes": dram} for one in row["seeds"]]
    if (content := inputs.get(launches, launches)) == launches:
        return {f"{launches}, seed {one['seed']}": found for one, found in zip(row["seeds"], outcomes, strict=True)}
    return {f"user {content}": {key: fmean(one[key] for one in outcomes) for key in outcomes[0]}}


def _outcomes(row: dict[str, Any]) -> dict[str, float]:
    return {key: float(row[key]) for key in OUTCOMES if isinstance(row.get(key), (int, float)) and not isinstance(row[key], bool)}


def _of_bench(document: dict[str, Any]) -> Iterator[Option]:
    """Measured schemes: a unit is an app, with its median launch time."""
    same = {key: document.get(key) for key in ("target", "workload", "swappiness")}
    for row in document["schemes"]:
        times = row.get("launch_ms")
        if not isinstance(times, dict) or not isinstance(times.get("by_app"), dict):
            continue
        settings, left = of_swap(str(row["name"]))
        if row.get("swap_bytes") is not None and "/sys/block/zram0/disksize" in settings:
            settings["/sys/block/zram0/disksize"] = f"{int(row['swap_bytes']) >> 20}MiB"
        units = {f"app {app}": {"launch_ms": float(value)} for app, value in times["by_app"].items()}
        yield Option(str(row["name"]), str(row.get("kind", "measured")), settings, json.dumps([same, left], sort_keys=True), units)


def _of_replay(document: dict[str, Any]) -> Iterator[Option]:
    from swaplab.columns import scheme_columns

    trace = document.get("trace", {})
    unit = f"trace {trace.get('content_hash') or trace.get('name')}"
    for point in document["points"]:
        if not point.get("filter_limited"):
            row = point | scheme_columns(point)
            yield _replayed(row, str(point["policy"]), str(point["scheme"]["name"]), str(point["memory"]), unit, str(document["kind"]))


def _replayed(row: dict[str, Any], policy: str, scheme: str, memory: str, unit: str, kind: str) -> Option:
    tuned, rest = of_policy(policy)
    swap, left = of_swap(scheme)
    outcomes = _outcomes(row) | {"stall_ms": float(row["stall_ns"]) / 1e6}
    beside = json.dumps([rest, left, memory])
    return Option(f"{policy} · {scheme} at {memory}", kind, tuned | swap, beside, {unit: outcomes})


def _of_sweep(document: dict[str, Any], experiment: dict[str, Any]) -> Iterator[Option]:
    """Each row as the run it was: the experiment with the row's keys set."""
    kind, varied = str(document["kind"]), document["sweep"]["varied"]
    for row in document["points"]:
        if row.get("filter_limited"):
            continue
        one = copy.deepcopy({key: value for key, value in experiment.items() if key != "sweep"})
        for key in varied:
            if row.get(key) is not None:
                _set(one, key, row[key])
        name = ", ".join(f"{key} = {row[key]}" for key in varied)
        if one.get("sim"):
            scheme = next(scheme for scheme in one["sim"]["schemes"] if scheme["name"] == row["name"])
            settings, beside = _sim_settings(one["sim"], scheme)
            units = _sim_units(row, one["sim"]["launches"], document.get("inputs", {}))
            yield Option(f"{row['name']} ({name})", kind, settings, beside, units)
        elif row.get("scheme"):
            trace = document.get("inputs", {}).get(one["replay"]["trace"], one["replay"]["trace"])
            yield _replayed(row, str(row["policy"]), str(row["scheme"]), str(row["memory"]), f"trace {trace}", kind)


def _set(experiment: dict[str, Any], key: str, value: Any) -> None:
    """Set a key such as `sim.phone.killer.minfree_kb`; a list or table comes as JSON text."""
    *path, last = key.split(".")
    at = experiment
    for part in path:
        at = at.setdefault(part, {})
    if isinstance(at.get(last), (list, dict)) and isinstance(value, str):
        value = json.loads(value)
    at[last] = value
