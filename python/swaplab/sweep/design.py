"""The points of a sweep: each is a whole experiment of its own, named by the hash of what it says and of what it reads.

Draws of a random design come from a hash of seed, point and key, not from a generator's state, so a point is the same whatever is run
before it, and a longer sweep begins with the points of a shorter one.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from swaplab import BadInput, __version__, _core

#: Every point is kept in memory until the sweep ends, and takes some kB of it.
MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class Point:
    """`values` are the keys that vary; `experiment` is resolved and has no sweep of its own."""

    index: int
    values: dict[str, Any]
    experiment: dict[str, Any]

    def key(self, identity: dict[str, Any]) -> str:
        """The point's name in the result, from its model's word for what it is."""
        return hashlib.sha256(json.dumps([__version__, identity], sort_keys=True).encode()).hexdigest()[:24]


def points(experiment: dict[str, Any], place: str) -> list[Point]:
    """Every point of a resolved experiment with a sweep, in the order of the design."""
    sweep = experiment.get("sweep")
    if not sweep:
        raise BadInput(f"{place}: no [sweep]; expected one, with `vary` or `list`")
    base = {key: value for key, value in experiment.items() if key != "sweep"}
    found = []
    for index, values in enumerate(_values(sweep, int(experiment["seed"]), place)):
        changed = json.loads(json.dumps(base))
        for key, value in values.items():
            _set(changed, key, value, place)
        resolved = json.loads(_core.experiment_from_json(f"{place}: point {index} ({_said(values)})", json.dumps(changed)))
        found.append(Point(index, values, resolved))
    return found


def _values(sweep: dict[str, Any], seed: int, place: str) -> Iterator[dict[str, Any]]:
    vary, design = sweep.get("vary", {}), sweep["design"]
    if design == "list":
        if not sweep.get("list"):
            raise BadInput(f"{place}: sweep.list is empty; expected an entry for each point")
        yield from sweep["list"]
        return
    if not vary or any(isinstance(values, list) and not values for values in vary.values()):
        raise BadInput(f'{place}: sweep.vary has no values; expected keys such as "replay.memory" with a list or a range each')
    for key, values in vary.items():
        if not isinstance(values, list):
            _check_range(values, f"{place}: sweep.vary.{key}")
    keys = sorted(vary)
    count = sweep.get("points") if design != "grid" else math.prod(_steps(values) for values in vary.values())
    if not count:
        raise BadInput(f"{place}: sweep.points is missing; expected how many points the random design draws")
    if count > MOST_POINTS:
        raise BadInput(f"{place}: a sweep of {count:,} points; expected at most {MOST_POINTS:,} (the random design draws some of a grid)")
    if design == "grid":
        for combination in itertools.product(*(_grid(vary[key]) for key in keys)):
            yield dict(zip(keys, combination, strict=True))
        return
    for index in range(count):
        yield {key: _draw(vary[key], seed, index, key) for key in keys}


def _check_range(values: dict[str, Any], place: str) -> None:
    if not values["low"] <= values["high"] or (values["log"] and values["low"] <= 0):
        raise BadInput(f"{place}: low {values['low']}, high {values['high']}; expected low <= high, and above 0 with log")
    if values["steps"] < 1:
        raise BadInput(f"{place}: {values['steps']} steps; expected at least 1")


def _steps(values: Any) -> int:
    return len(values) if isinstance(values, list) else int(values["steps"])


def _grid(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    steps = values["steps"]
    return [_between(values, at / (steps - 1) if steps > 1 else 0.0) for at in range(steps)]


def _draw(values: Any, seed: int, index: int, key: str) -> Any:
    digest = hashlib.sha256(json.dumps([seed, index, key]).encode()).digest()
    share = int.from_bytes(digest[:7]) / 2**56
    return values[int(share * len(values))] if isinstance(values, list) else _between(values, share)


def _between(values: dict[str, Any], share: float) -> Any:
    low, high = values["low"], values["high"]
    number = math.exp(math.log(low) + share * math.log(high / low)) if values["log"] else low + share * (high - low)
    number = float(f"{number:.10g}")
    if values["unit"] == "%":
        return f"{number:.6g}%"
    # Bytes and pages are whole, and so are numbers of a range between whole numbers with a unit.
    whole = round(number) if values["unit"] else number
    return f"{whole}{values['unit']}" if values["unit"] else (int(whole) if float(whole).is_integer() else whole)


def _set(experiment: dict[str, Any], key: str, value: Any, place: str) -> None:
    at = experiment
    *path, last = key.split(".")
    if (path or [last])[0] == "sweep":
        raise BadInput(f"{place}: sweep varies '{key}', a key of the sweep itself; expected a key of what it runs")
    for part in path:
        at = at.setdefault(part, {})
        if not isinstance(at, dict):
            raise BadInput(f"{place}: sweep varies '{key}', but '{part}' is no table; expected a key of `swaplab schema`")
    at[last] = value


def _said(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in values.items())
