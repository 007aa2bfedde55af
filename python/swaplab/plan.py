"""How much memory, and which swap behind it: the sizes and schemes no other beats, and the cheapest that meets a target.

A point's price is all the DRAM its scheme uses (frames, compressed pool, metadata) and the bytes of NVM or flash it fills; its time is that
of swap and file operations plus the processor's. A target is a time in seconds, or a percentage above
the least time that any point reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from swaplab import BadInput


@dataclass(frozen=True)
class Target:
    """At most `seconds`, or at most `percent` above the least time found."""

    seconds: float | None = None
    percent: float | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        """`0.5s` or `10%`."""
        for unit, key in (("s", "seconds"), ("%", "percent")):
            if text.endswith(unit):
                try:
                    value = float(text.removesuffix(unit))
                except ValueError:
                    break
                if value >= 0 and value < float("inf"):
                    return cls(**{key: value})
        raise BadInput(
            f"--target '{text}': not a time or a share; expected seconds such as 0.5s, or percent above the least time such as 10%"
        )

    def limit_ns(self, least_ns: float) -> float:
        return self.seconds * 1e9 if self.seconds is not None else least_ns * (1 + (self.percent or 0.0) / 100)


def plan(document: dict[str, Any], target: Target, curve: list[dict[str, Any]]) -> dict[str, Any]:
    """The plan of a replay document with schemes; `curve` is the trace's miss-ratio curve."""
    # The report draws plans, so it is loaded only when one is made.
    from swaplab.report.pareto import front
    from swaplab.report.relative import points_frame

    frame = points_frame(document)
    valid = frame.filter(~pl.col("filter_limited")).sort("dram_total_bytes", "stall_ns", maintain_order=True)
    best = front(valid, "dram_total_bytes", "stall_ns")
    least = float(valid["stall_ns"].min() or 0) if valid.height else 0.0  # type: ignore[arg-type]
    limit = target.limit_ns(least)
    chosen = valid.filter(pl.col("stall_ns") <= limit).head(1)
    return {
        "schema": 1,
        "kind": document["kind"],
        "trace": document["trace"],
        "plan": {
            "target": {"seconds": target.seconds, "percent": target.percent, "limit_s": limit / 1e9},
            "least_s": least / 1e9,
            "answer": _row(chosen.row(0, named=True)) if chosen.height else None,
            "front": [_row(row) for row in best.iter_rows(named=True)],
            "filter_limited_points": frame.height - valid.height,
        },
        "mrc": {"policy": "lru", "points": curve},
        "points": document["points"],
    }


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """What a choice is and costs."""
    return {
        "scheme": row["scheme"],
        "policy": row["policy"],
        "memory": row["memory"],
        "frames_bytes": row["frames_bytes"],
        "dram_total_bytes": row["dram_total_bytes"],
        "nvm_bytes": row["nvm_peak_bytes"],
        "flash_bytes": row["flash_peak_bytes"],
        "time_s": row["stall_ns"] / 1e9,
        "energy_j": row["energy_j"],
        "nvm_write_bytes": row["nvm_write_bytes"],
        "flash_write_bytes": row["flash_write_bytes"],
    }


def answer(document: dict[str, Any]) -> str:
    """The plan in one line."""
    found = document["plan"]
    limit = f"{found['target']['limit_s']:.3f} s"
    if (best := found["answer"]) is None:
        return f"No size and scheme tried stays below {limit}; the least time found is {found['least_s']:.3f} s."
    beside = ", ".join(
        f"{best[key] / 2**20:.1f} MiB of {name}" for key, name in (("nvm_bytes", "NVM"), ("flash_bytes", "flash")) if best[key]
    )
    return (
        f"Least DRAM for at most {limit}: {best['dram_total_bytes'] / 2**20:.1f} MiB in all "
        f"({best['scheme']} at {best['memory']}{', and ' + beside if beside else ''}), {best['time_s']:.3f} s."
    )
