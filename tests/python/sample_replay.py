"""Replay documents with computed figures, for tests of the report. Costs:
docs/papers/spo-clock.md.
"""

from __future__ import annotations

from typing import Any

DEVICES = {
    "swap": {"name": "optane-m10", "read_ns": 5263, "write_ns": 28571, "source": "the SPO-CLOCK paper: 190k / 35k IOPS"},
    "file": {"name": "ufs-3.1", "read_ns": 10000, "write_ns": 14286, "source": "the SPO-CLOCK paper: 100k / 70k IOPS"},
}


def point(
    policy: str, pages: int, memory: str, reads: int, writes: int, file_reads: int, file_writes: int = 0, limited: bool = False
) -> dict[str, Any]:
    """Build a point; its times are computed from its counts."""
    times = {
        "swap_read_ns": reads * 5263,
        "swap_write_ns": writes * 28571,
        "file_read_ns": file_reads * 10000,
        "file_write_ns": file_writes * 14286,
    }
    return {
        "policy": policy,
        "memory_pages": pages,
        "memory": memory,
        "references": 1_000_000,
        "faults": reads + file_reads,
        "swap_reads": reads,
        "swap_writes": writes,
        "file_reads": file_reads,
        "file_writes": file_writes,
        "io_time_ns": sum(times.values()),
        **times,
        "filter_limited": limited,
    }


def document(policies: dict[str, float] | None = None, limited: tuple[int, ...] = ()) -> dict[str, Any]:
    """Build a document at 5 sizes. `policies`: factor on CLOCK's swap traffic by name; file traffic
    changes slightly in reverse.
    """
    policies = policies or {"clock": 1.0, "lru": 1.02, "fifo": 1.3, "arc": 0.93, "two-q": 0.9, "lfu": 1.6, "spo-clock": 1.05, "opt": 0.6}
    points = []
    for size in (5, 10, 15, 20, 25):
        for policy, factor in policies.items():
            reads = round(factor * 60_000 / size)
            row = point(
                policy, 82 * size, f"{size}%", reads, reads * 2 // 3, round(9_000 / size / factor**0.3), 300 // size, size in limited
            )
            points.append(row)
    trace = {
        "name": "sample",
        "path": "data/sample.slt",
        "references": 1_000_000,
        "footprint_pages": 8200,
        "page_size": 4096,
        "filter": 16,
        "content_hash": "blake3:0123abcd",
    }
    return {"schema": 1, "kind": "simulated", "trace": trace, "devices": DEVICES, "points": points}


def with_scheme(row: dict[str, Any], name: str, pool: int, cpu_ns: int, joules: float | None = 0.5, nvm: int = 0) -> dict[str, Any]:
    """Extend a point by a swap scheme: `pool` bytes of DRAM in addition to the frames, processor
    time, bytes on NVM.
    """
    frames = row["memory_pages"] * 4096
    energy = None if joules is None else {"background": None, "read": 0.0, "write": joules, "total": joules}
    medium = {
        "device": "lpddr2",
        "reads": 1,
        "writes": 1,
        "read_bytes": 4096,
        "write_bytes": 4096,
        "busy_ns": 1,
        "energy_j": energy,
        "wear": None,
    }
    scheme = {
        "name": name,
        **dict.fromkeys(("direct_reads", "promotions", "zero_fills", "read_ahead", "mapped_references", "unchanged"), 0),
        "copied_pages": row["swap_reads"],
        "swap_outs": row["swap_writes"],
        "swap_in_bytes": row["swap_reads"] * 4096,
        "swap_out_bytes": row["swap_writes"] * 4096,
        "nvm_write_bytes": nvm,
        "flash_write_bytes": 0,
        "costs": {"media": {"pool": medium}, "busy_ns": 1, "cpu_ns": cpu_ns, "processor": "x86-64"},
        "memory": {
            "frames_bytes": frames,
            "pool_peak_bytes": pool,
            "metadata_peak_bytes": 0,
            "nvm_peak_bytes": nvm,
            "flash_peak_bytes": 0,
            "dram_total_bytes": frames + pool,
        },
        "gauges": {},
    }
    return row | {"scheme": scheme}
