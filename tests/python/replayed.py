"""Replays for tests against models and oracles: the core's rows as flat dictionaries, one per
policy, size and scheme.

The order is policies, then sizes, then schemes. Counts are integers under the names of the
document's groups.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from swaplab import _core
from swaplab.core import experiment as experiments
from swaplab.core.model import Row

Flat = dict[str, int | float | str | bool | None]


def experiment_texts(
    trace: Path | str, policies: Sequence[str], memory: Sequence[str], swap: Sequence[str] = (), **options: object
) -> list[str]:
    """Build an experiment per size in the core's form. `options`: file_device, reading, seed, and
    keys of `run.replay`.
    """
    device, reading, seed = options.pop("file_device", "ufs-3.1"), options.pop("reading", {}), options.pop("seed", 0)
    table = {
        "machine": {"devices": {"flash": device}},
        "design": [{"policy": list(policies), **({"swap": list(swap)} if swap else {})}],
        "workload": {"trace": str(trace), "reading": reading},
        "run": {"on": ["replay"], "seed": seed, "replay": {key: value for key, value in options.items() if value is not None}},
    }
    found = []
    for size in memory:
        table["machine"] = {"devices": {"flash": device}, "dram": size}
        found.append(experiments.dumped(experiments.parse(json.dumps(table), "test.json")))
    return found


def rows(
    trace: Path | str, policies: Sequence[str], memory: Sequence[str], swap: Sequence[str] = (), jobs: int = 0, **options: object
) -> list[Row]:
    """Replay and return typed rows, by policy, then size, then scheme."""
    texts = experiment_texts(trace, policies, memory, swap, **options)
    found = [Row.model_validate(row) for row in json.loads(_core.replay_rows(texts, jobs))["rows"]]
    schemes = max(len(swap), 1)
    per_size = len(policies) * schemes
    return [
        found[size * per_size + policy * schemes + scheme]
        for policy in range(len(policies))
        for size in range(len(memory))
        for scheme in range(schemes)
    ]


def points(
    trace: Path | str, policies: Sequence[str], memory: Sequence[str], swap: Sequence[str] = (), jobs: int = 0, **options: object
) -> list[Flat]:
    """Replay and return flat rows: `policy`, `memory`, `memory_pages`, `filter_limited`, counts,
    times in ns.
    """
    schemes = max(len(swap), 1)
    found = rows(trace, policies, memory, swap, jobs, **options)
    return [flat(row, memory[at // schemes % len(memory)]) for at, row in enumerate(found)]


def flat(row: Row, size: str = "") -> Flat:
    """Flatten a row to its figures by name; integral values become integers."""
    assert row.replay is not None, "a row of the world replay"
    found: Flat = {"policy": row.policy, "memory": size, "memory_pages": row.replay.frames, "filter_limited": row.replay.filter_limited}
    for group in (row.paging, row.time, row.memory):
        for name, value in group.model_dump().items():
            found[name] = int(value) if isinstance(value, float) and value.is_integer() else value
    found["io_time_ns"] = found["io_ns"]
    return found
