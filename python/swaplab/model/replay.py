"""The replay model: the `[replay]` table run by the core, alone or as points of a sweep."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from swaplab import BadInput, _core
from swaplab.columns import scheme_columns
from swaplab.model.address import local_trace

#: Keys of the table that say how a trace that is no `.slt` is read.
READING = ("format", "pages", "filter", "page_size", "data_read_class")
#: At most this many memory sizes go over a trace together: enough that decoding costs little, few enough to share out among workers.
TOGETHER = 16

KIND = "simulated"
PARALLEL = True

Listener = Callable[[int, int], None]


def run(
    experiment: dict[str, Any], jobs: int = 0, listener: Listener | None = None, tables: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The document of `swaplab replay --json` for a resolved experiment; it has no tables beside it."""
    table = experiment["replay"]
    return _replay(table, _listed(table["memory"]), int(experiment["seed"]), jobs, listener)


def objectives(experiment: dict[str, Any]) -> tuple[str, str]:
    """What a sweep trades: less memory against less time. With schemes: all the DRAM they use, and the processor's time."""
    table, sweep = experiment["replay"], experiment.get("sweep") or {}
    varied = {key for one in [sweep.get("vary", {}), *sweep.get("list", [])] for key in one}
    return ("dram_total_bytes", "stall_ns") if table.get("scheme") or "replay.scheme" in varied else ("memory_pages", "io_time_ns")


def inputs(experiment: dict[str, Any]) -> dict[str, str]:
    """What the run reads: address -> content hash; the trace, and policies of the user's own."""
    table = experiment["replay"]
    files = {file: _file_hash(file) for policy in _listed(table["policy"]) if (file := policy_file(policy))}
    return {table["trace"]: _content_hash(table["trace"], _reading(table))} | files


def identity(experiment: dict[str, Any]) -> dict[str, Any]:
    """The experiment by what it reads, not by where that lies: equal exactly where a run would give the same."""
    table = {key: value for key, value in experiment["replay"].items() if key not in READING}
    read = inputs(experiment)
    policies = [policy.replace(file, read[file], 1) if (file := policy_file(policy)) else policy for policy in _listed(table["policy"])]
    said = policies if isinstance(table["policy"], list) else policies[0]
    return experiment | {"replay": table | {"trace": read[table["trace"]], "policy": said}}


@lru_cache(maxsize=64)
def _content_hash(trace: str, reading: str) -> str:
    return str(json.loads(_core.trace_info(*local_trace(trace, reading)))["content_hash"])


def batch(points: Iterable[tuple[int, dict[str, Any]]]) -> list[list[tuple[int, dict[str, Any]]]]:
    """Points that differ only in memory advance in one pass over the trace; each group is work for one worker."""
    groups: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    batches = []
    for index, experiment in points:
        shared = {key: value for key, value in experiment["replay"].items() if key != "memory"}
        group = groups.setdefault(json.dumps([shared, experiment["seed"]], sort_keys=True), [])
        group.append((index, experiment))
        if len(group) == TOGETHER:
            batches.append(group.copy())
            group.clear()
    return batches + [group for group in groups.values() if group]


def rows(group: list[tuple[int, dict[str, Any]]]) -> list[tuple[int, list[dict[str, Any]]]]:
    """The outcome of each point of one group: a row for every policy, size and scheme that the point names."""
    table = group[0][1]["replay"]
    sizes = list(dict.fromkeys(size for _, experiment in group for size in _listed(experiment["replay"]["memory"])))
    found = _replay(table, sizes, int(group[0][1]["seed"]), 1, None)["points"]
    by_size: dict[str, list[dict[str, Any]]] = {size: [] for size in sizes}
    for point in found:
        plain = {key: value for key, value in point.items() if isinstance(value, (int, float, str, bool))}
        by_size[point["memory"]].append(plain | scheme_columns(point))
    return [(index, [row for size in _listed(one["replay"]["memory"]) for row in by_size[size]]) for index, one in group]


def _replay(table: dict[str, Any], memory: list[str], seed: int, jobs: int, listener: Listener | None) -> dict[str, Any]:
    path, reading = local_trace(table["trace"], _reading(table))
    request = {
        "policies": _listed(table["policy"]),
        "memory": memory,
        "schemes": _listed(table.get("scheme") or []),
        **{key: table.get(key) for key in ("file_device", "swap_device", "first_touch", "mapping", "signal", "seconds")},
        "seed": seed,
        "jobs": jobs,
        "reading": json.loads(reading),
    }
    document: dict[str, Any] = json.loads(_core.replay(path, json.dumps(request), listener))
    return document


def _reading(table: dict[str, Any]) -> str:
    return json.dumps({key: table[key] for key in READING if table.get(key) is not None})


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def beside(experiment: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The experiment with paths that were relative to its file made relative to where we are; addresses stay."""
    table = dict(experiment["replay"])
    for key in ("trace", "pages"):
        if table.get(key) and "://" not in table[key] and not Path(table[key]).is_absolute():
            table[key] = str(folder / table[key])
    found = experiment | {"replay": _policies_beside(table, "policy", folder)}
    if sweep := experiment.get("sweep"):
        changed = dict(sweep)
        for part in ("vary", "list"):
            if isinstance(sweep.get(part), dict):
                changed[part] = _policies_beside(sweep[part], "replay.policy", folder)
            elif sweep.get(part):
                changed[part] = [_policies_beside(one, "replay.policy", folder) for one in sweep[part]]
        found["sweep"] = changed
    return found


def policy_file(policy: str) -> str | None:
    """The file that a policy's key names, as the core tells it: its first part ends as a library's or a Python file's name does."""
    file = policy.partition(":")[0]
    return file if file.endswith((".so", ".dylib", ".py")) else None


def _policies_beside(table: dict[str, Any], key: str, folder: Path) -> dict[str, Any]:
    def place(policy: Any) -> Any:
        if isinstance(policy, list):
            return [place(one) for one in policy]
        file = policy_file(policy) if isinstance(policy, str) else None
        return policy if file is None or Path(file).is_absolute() else str(folder / file) + policy[len(file) :]

    return table | {key: place(table[key])} if key in table else table


def _file_hash(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}; expected a file with a policy") from None
