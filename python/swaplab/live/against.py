"""The simulator against the kernel: the rows of one experiment from both, configuration by configuration, and whether the goals are met.

Goals (fixed before the first comparison): swap-ins and swap-outs within 10 %, kills within 1, median switch delay within 15 %, Kendall's
tau of the ranking by switch delay at least 0.9. What is not reached is listed with the configuration and by how much.
"""

from __future__ import annotations

import math
from typing import Any

from swaplab import BadInput
from swaplab.live.bench.summary import kendall, quantile

#: (column, what it is, most that the two may differ; a share, or a count for kills)
GOALS = (
    ("swap_in_bytes", "swap-ins", 0.10),
    ("swap_out_bytes", "swap-outs", 0.10),
    ("kills", "kills", 1.0),
    ("switch_ms", "median switch", 0.15),
)
TAU = 0.9
#: Bytes below which a share says nothing: one batch of reclaim.
NOTHING = 32 * 4096

Key = tuple[str, int, str]


def compare(bench: dict[str, Any], sim: dict[str, Any]) -> dict[str, Any]:
    """Each configuration of both with its differences, and each goal with how many configurations meet it."""
    measured, simulated = _rows(bench), _rows(sim)
    if measured.keys() != simulated.keys():
        raise BadInput("against: rows of different configurations; expected both documents of one experiment")
    if bench["experiment"]["bench"]["warm_up_rounds"]:
        raise BadInput("against: warm_up_rounds; expected 0, for the simulator counts from the first launch on")
    rows = []
    for key, row in measured.items():
        pair = {name: (_value(row, name), _value(simulated[key], name)) for name, _, _ in GOALS}
        found: dict[str, Any] = {"name": key[0], "swap_bytes": key[1], "app_policy": key[2]}
        for name, _, most in GOALS:
            ours, theirs = pair[name]
            off = _difference(name, ours, theirs)
            found[name] = {"measured": ours, "simulated": theirs, "difference": off, "met": None if off is None else abs(off) <= most}
        rows.append(found)
    delays = [(row["switch_ms"]["measured"], row["switch_ms"]["simulated"]) for row in rows]
    ranked = [pair for pair in delays if None not in pair]
    tau = kendall(*zip(*ranked, strict=True)) if len(ranked) > 1 else math.nan
    return {
        "configurations": rows,
        "goals": [_goal(rows, *goal) for goal in GOALS],
        "tau": None if math.isnan(tau) else round(tau, 4),
        "tau_wanted": TAU,
    }


def _rows(document: dict[str, Any]) -> dict[Key, dict[str, Any]]:
    return {(row["name"], int(row["swap_bytes"]), str(row.get("app_policy") or "none")): row for row in document["schemes"]}


def _value(row: dict[str, Any], name: str) -> float | None:
    value = row[name]
    if isinstance(value, dict):
        value = value["p50"]
    return None if value is None else float(value)


def _difference(name: str, ours: float | None, theirs: float | None) -> float | None:
    """Simulated minus measured: a count for kills, else a share of the measured; None where one of them has none."""
    if ours is None or theirs is None:
        return None
    if name == "kills":
        return round(theirs - ours, 2)
    if name != "switch_ms" and max(ours, theirs) <= NOTHING:
        return 0.0
    return round((theirs - ours) / ours, 4) if ours else math.inf


def _goal(rows: list[dict[str, Any]], name: str, what: str, most: float) -> dict[str, Any]:
    judged = [row for row in rows if row[name]["met"] is not None]
    off = sorted(abs(row[name]["difference"]) for row in judged)
    return {
        "what": what,
        "within": most,
        "configurations": len(judged),
        "met": sum(row[name]["met"] for row in judged),
        "median_difference": round(quantile(off, 0.5), 4) if off else None,
        "largest_difference": off[-1] if off else None,
    }
