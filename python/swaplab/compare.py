"""Two or more runs side by side: each outcome of a run as a ratio to the same outcome of the baseline run.

Outcomes are the same where trace, policy (or scheme) and memory are; what only one run has is listed, never guessed. A regression is an
outcome above `1 + fail_above`; where both runs carry intervals, only one whose intervals do not meet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from swaplab import BadInput
from swaplab.report.launches import memory_text
from swaplab.run_folder import reading

#: What is compared in a document of schemes (`sim`, `bench`): the path of a number, less is better; the first that is there decides.
SCHEME_METRICS = ("launch_ms.mean", "switch_ms.mean", "kills", "swap_out_bytes", "nvm_write_bytes", "flash_write_bytes")


@dataclass(frozen=True)
class Outcome:
    """One number of one run: `case` says what it is of, `memory` how much memory it used, `interval` how sure it is."""

    case: str
    memory: str
    metric: str
    value: float
    interval: tuple[float, float] | None = None


def outcomes(document: dict[str, Any], place: str) -> list[Outcome]:
    """Every comparable number of a document."""
    if isinstance(document.get("runs"), list):
        return [one for part in document["runs"] for one in outcomes(part, place)]
    if isinstance(document.get("schemes"), list):
        return [one for scheme in document["schemes"] for one in _scheme(scheme)]
    points = document.get("points")
    if not isinstance(points, list) or not points or "io_time_ns" not in points[0]:
        raise BadInput(f"{place}: nothing to compare; expected the document of replay, sweep, sim or bench")
    trace = document.get("trace", {})
    name = str(trace.get("name") or ", ".join(document.get("inputs", {})) or "trace")
    varied = document.get("sweep", {}).get("varied", [])
    found = []
    for point in points:
        if point.get("filter_limited"):
            continue
        extra = [f"{key.split('.')[-1]} {point[key]}" for key in varied if key not in ("replay.policy", "replay.memory", "replay.scheme")]
        scheme = point.get("scheme")
        extra += [scheme["name"] if isinstance(scheme, dict) else scheme] if scheme else []
        case = " · ".join([name, str(point["policy"]), *extra])
        memory = f"{point['memory_pages']} pages"
        found += [Outcome(case, memory, metric, float(point[metric])) for metric in ("io_time_ns", "faults")]
    return found


def _scheme(scheme: dict[str, Any]) -> list[Outcome]:
    used = memory_text(scheme)
    found = []
    for path in SCHEME_METRICS:
        group, _, leaf = path.partition(".")
        value = scheme.get(group)
        interval = None
        if leaf:
            interval = value.get(f"{leaf}_interval") if isinstance(value, dict) else None
            value = value.get(leaf) if isinstance(value, dict) else None
        if isinstance(value, (int, float)):
            found.append(
                Outcome(str(scheme.get("name")), used or "as the run says", path, float(value), tuple(interval) if interval else None)
            )
    return found


def compare(runs: list[tuple[str, dict[str, Any]]], baseline: str | None = None, fail_above: float | None = None) -> dict[str, Any]:
    """The comparison of named documents with the one named `baseline` (default: the first). `fail_above` is a percentage."""
    names = [name for name, _ in runs]
    if len(runs) < 2:
        raise BadInput("compare: one run; expected two or more")
    if len(set(names)) != len(names):
        raise BadInput(f"compare: runs of one name ({', '.join(names)}); expected NAME=RUN to tell them apart")
    base = baseline or names[0]
    if base not in names:
        raise BadInput(f"--baseline {base}: no such run; expected one of: {' '.join(names)}")
    by_run, kinds = {}, {}
    for name, document in runs:
        with reading(name):
            by_run[name] = {(o.case, o.memory, o.metric): o for o in outcomes(document, name)}
            kinds[name] = _kind(document)
    rows, missing = [], []
    for name in names:
        if name == base:
            continue
        missing += [
            f"{name}: no {' at '.join(key[:2])}"
            for key in by_run[base].keys() - by_run[name].keys()
            if key[2] in ("io_time_ns", SCHEME_METRICS[0])
        ]
        for key, old in by_run[base].items():
            if new := by_run[name].get(key):
                rows.append(_row(name, old, new, fail_above))
    if not rows:
        raise BadInput(
            f"compare: no outcome is in both {base} and another run; expected runs of the same traces, policies and memory sizes"
        )
    return {
        "schema": 1,
        "kind": kinds[base],
        "comparison": {
            "baseline": base,
            "runs": [{"name": name, "kind": kinds[name]} for name in names],
            "fail_above_percent": fail_above,
            "outcomes": rows,
            "means": means(rows),
            "missing": sorted(missing),
            "regressions": sum(row["regression"] for row in rows),
        },
    }


def _kind(document: dict[str, Any]) -> str:
    parts = document["runs"] if isinstance(document.get("runs"), list) else document.get("schemes") or [document]
    return str(document.get("kind") or parts[0].get("kind", "simulated"))


def _row(run: str, old: Outcome, new: Outcome, fail_above: float | None) -> dict[str, Any]:
    ratio = new.value / old.value if old.value else (1.0 if new.value == old.value else None)
    beyond = fail_above is not None and new.value > old.value * (1 + fail_above / 100)
    sure = old.interval is None or new.interval is None or new.interval[0] > old.interval[1]
    return {
        "run": run,
        "case": old.case,
        "memory": old.memory,
        "metric": old.metric,
        "baseline_value": old.value,
        "value": new.value,
        "ratio": ratio,
        "baseline_interval": list(old.interval) if old.interval else None,
        "interval": list(new.interval) if new.interval else None,
        "regression": beyond and sure,
    }


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Geometric mean of the ratios of each run and metric, with their range."""
    frame = pl.DataFrame(
        [{k: row[k] for k in ("run", "metric", "ratio")} for row in rows],
        schema={"run": pl.String, "metric": pl.String, "ratio": pl.Float64},
    )
    found = []
    for (run, metric), group in frame.drop_nulls().filter(pl.col("ratio") > 0).group_by("run", "metric", maintain_order=True):
        ratios = group["ratio"].to_list()
        mean = math.exp(math.fsum(math.log(ratio) for ratio in ratios) / len(ratios))
        found.append({"run": run, "metric": metric, "mean_ratio": mean, "low": min(ratios), "high": max(ratios), "outcomes": len(ratios)})
    return found
