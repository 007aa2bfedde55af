"""A real kernel: the `[bench]` table run on this machine, alone or as points of a sweep, one after the other."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

KIND = "measured"
#: Runs that share a machine would measure one another.
PARALLEL = False

Listener = Callable[[int, int], None]
Point = tuple[int, dict[str, Any]]


def run(
    experiment: dict[str, Any], jobs: int = 0, listener: Listener | None = None, tables: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The document of `swaplab bench --json` for a resolved experiment on this machine's kernel, which takes root. `tables` is filled
    with launches, timeline and kills."""
    from swaplab.live.bench import spec
    from swaplab.live.bench.tables import tables as of_document
    from swaplab.live.target import registry
    from swaplab.live.target.request import Request

    wanted = spec.of_bench(experiment, "experiment")
    document = registry.run("local", Request(wanted, spec.load_apps(spec.table(wanted), "experiment"), "experiment"))
    if tables is not None:
        tables |= of_document(document)
    return document


def objectives(experiment: dict[str, Any]) -> tuple[str, str]:
    """What a sweep trades: all the memory that a scheme used against the time of launches and switches."""
    return ("memory_total_bytes", "launch_mean_ms")


def inputs(experiment: dict[str, Any]) -> dict[str, str]:
    """What the run reads: app file -> content hash, those that come along too."""
    from swaplab.live.bench.spec import app_text

    uses = dict.fromkeys(use["use"] for use in experiment["bench"]["apps"])
    return {use: hashlib.sha256(app_text(use).encode()).hexdigest() for use in uses}


def identity(experiment: dict[str, Any]) -> dict[str, Any]:
    """The experiment by its apps' content and the kernel it runs on: what makes two measurements comparable."""
    read = inputs(experiment)
    apps = [use | {"use": read[use["use"]]} for use in experiment["bench"]["apps"]]
    return experiment | {"bench": experiment["bench"] | {"apps": apps}, "kernel": platform.release()}


def batch(points: Iterable[Point]) -> list[list[Point]]:
    """Points share no work: each is a group of its own."""
    return [[point] for point in points]


def rows(group: list[Point]) -> list[tuple[int, list[dict[str, Any]]]]:
    """The outcome of each point: a row for every configuration."""
    return [(index, [_row(row) for row in run(experiment)["schemes"]]) for index, experiment in group]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in row.items() if isinstance(value, (int, float, str, bool))}
    times = {
        f"{what}_{name}_ms": (row[f"{what}_ms"] or {}).get(name)
        for what, names in {"launch": ("mean", "p50", "p95"), "switch": ("p50", "p95"), "cold": ("p50",)}.items()
        for name in names
    }
    return plain | times | {"memory_total_bytes": row["memory"]["total_bytes"]}


def beside(experiment: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The experiment with app files that lie beside its file found from where we are."""
    from swaplab.live.bench.spec import built_in

    known = built_in("apps")

    def place(use: Any) -> Any:
        name = use.get("use") if isinstance(use, dict) else None
        return use | {"use": str(folder / name)} if isinstance(name, str) and name not in known else use

    table = experiment["bench"]
    return experiment | {"bench": table | {"apps": [place(use) for use in table["apps"]]}}
