"""Measures of DR.Swap's claims: its energy equations, and copies removed by Direct Read on the bundled traces."""

from __future__ import annotations

import csv
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import swaplab
from swaplab import _core
from swaplab.papers import Measured

HERE = Path(__file__).parent
#: Real programs whose traces come with the package.
TRACES = sorted((Path(swaplab.__file__).parent / "data").glob("*.slt"))
EXPERIMENT = tomllib.loads((HERE / "experiment.toml").read_text())


def _energy(swap_mib: int, direct: bool = True) -> dict[str, float]:
    run = EXPERIMENT["energy"]
    direct_reads = run["direct_reads"] if direct else 0
    text = _core.energy(f"{swap_mib}MiB", run["seconds"], run["swap_ins"], direct_reads, run["swap_outs"], 64, run["mode"])
    schemes = json.loads(text)
    return {name: parts["total_j"] for name, parts in schemes.items()}


def _saving(swap_mib: int) -> Measured:
    totals = _energy(swap_mib)
    saving = 100 * (1 - totals["nvm-direct"] / totals["dram"])
    return Measured(saving, f"{saving:.1f} %")


def saving_128() -> Measured:
    return _saving(128)


def saving_256() -> Measured:
    return _saving(256)


def saving_512() -> Measured:
    return _saving(512)


def saving_of_direct_read() -> Measured:
    saving = 100 * (1 - _energy(128)["nvm-direct"] / _energy(128, direct=False)["nvm-direct"])
    return Measured(saving, f"{saving:.2f} %")


@cache
def _points() -> tuple[dict[str, Any], ...]:
    """Every valid point of every bundled trace, all schemes at it."""
    request = {
        **{key: value for key, value in EXPERIMENT["replay"].items() if key != "traces"},
        "swap_device": None,
        "mapping": "follow",
        "signal": "exact",
        "seed": 0,
        "jobs": 0,
    }
    found: list[dict[str, Any]] = []
    for trace in TRACES:
        points = [p for p in json.loads(_core.replay(trace, json.dumps(request), None))["points"] if not p["filter_limited"]]
        for pages in dict.fromkeys(p["memory_pages"] for p in points):
            found.append({p["scheme"]["name"]: p for p in points if p["memory_pages"] == pages} | {"program": trace.stem})
    return tuple(found)


def _removed(point: dict[str, Any]) -> float:
    copies = [point[name]["scheme"]["copied_pages"] for name in ("nvm-direct", "nvm-copy")]
    return 100 * (1 - copies[0] / copies[1]) if copies[1] else 0.0


def copies_removed() -> Measured:
    programs = sorted({point["program"] for point in _points()})
    means = {}
    for program in programs:
        removed = [_removed(point) for point in _points() if point["program"] == program]
        means[program] = sum(removed) / len(removed)
    mean = sum(means.values()) / len(means)
    each = ", ".join(f"{program} {value:.0f} %" for program, value in means.items())
    return Measured(mean, f"{mean:.1f} % ({each})", ordered=mean > 0)


def least_copies_removed() -> Measured:
    least = min(_removed(point) for point in _points())
    return Measured(least, f"{least:.1f} % at least, over {len(_points())} points", ordered=least > 0)


def table4_slips() -> Measured:
    rows = [row for row in csv.DictReader((HERE / "table4.csv").open()) if row["swap_mb"] == "128"]
    enabled = [int(row["swap_ins_dr_enabled"]) for row in rows if row["category"] != "Average"]
    disabled = [int(row["swap_ins_dr_disabled"]) for row in rows if row["category"] != "Average"]
    text = (3289, 1066)
    slips = [abs(said - sum(column) / len(column)) for said, column in zip(text, (disabled, enabled), strict=True)]
    return Measured(max(slips), f"the rows give {sum(disabled) / len(disabled):.0f} and {sum(enabled) / len(enabled):.0f}")


def flash_over_nvm_direct() -> Measured:
    swap_ns = lambda point: point["swap_read_ns"] + point["swap_write_ns"]  # noqa: E731
    least = min(swap_ns(point["flash"]) / swap_ns(point["nvm-direct"]) for point in _points())
    return Measured(least, f"flash takes {least:.0f} times as long or more at every point")
