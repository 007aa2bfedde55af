"""A point's swap scheme as plain columns, the same in sweeps, frames and reports. Imports nothing: workers start fast."""

from __future__ import annotations

from typing import Any


def scheme_columns(point: dict[str, Any]) -> dict[str, Any]:
    """What the point's scheme did: counters and bytes, memory used, `energy_j`, `stall_ns` (I/O plus processor). No scheme, no column.

    `energy_j` is null where a medium's spec gives no energy.
    """
    scheme = point.get("scheme")
    if not scheme:
        return {}
    costs = scheme["costs"]
    energies = [medium["energy_j"] for medium in costs["media"].values()]
    return {
        "scheme": str(scheme["name"]),
        **{key: value for key, value in scheme.items() if isinstance(value, (int, float))},
        **{key: int(value) for key, value in scheme["memory"].items()},
        "cpu_ns": int(costs["cpu_ns"]),
        "stall_ns": int(point["io_time_ns"]) + int(costs["cpu_ns"]),
        "energy_j": None if None in energies else float(sum(one["total"] for one in energies)),
    }
