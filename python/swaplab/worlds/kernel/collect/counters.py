"""Samples of the kernel's counters. The difference of two samples is the activity between them.

/proc/vmstat counts for the whole machine. Version 1 control groups do not count swap-ins, so a
run's traffic is taken from the machine's counters. It is correct if no other program swaps;
`others_swapping` says whether another swap area was active. Stalls are those of the group if it has
a memory.pressure file, otherwise those of the machine; `pressure_scope` says which.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from swaplab.worlds.kernel.knobs.cgroup import Group
from swaplab.worlds.kernel.undo import swaps
from swaplab.worlds.procfs import PAGE, read, table

#: The rows of /proc/vmstat in a sample, and `direct_reads`, which only swaplab's pager has: pages
#: read in place, without a copy.
VMSTAT = (
    "pswpin", "pswpout", "zswpin", "zswpout", "swpin_zero", "swpout_zero", "swap_ra", "swap_ra_hit", "pgmajfault", "direct_reads",
)  # fmt: skip
#: The rows of memory.stat in a sample.
STAT = ("anon", "file", "swap", "workingset_refault_anon", "workingset_refault_file")
#: Fields of zram's mm_stat, in the kernel's order.
ZRAM = ("orig_data_size", "compr_data_size", "mem_used_total", "mem_limit", "mem_used_max", "same_pages", "pages_compacted", "huge_pages")


def pressure(text: str) -> dict[str, int]:
    """Parse the totals of a pressure file, in microseconds: {"some": .., "full": ..}."""
    return {line.split()[0]: int(line.rsplit("total=", 1)[1]) for line in text.splitlines() if "total=" in line}


def zram(device: str) -> dict[str, int]:
    """Read mm_stat of /dev/zramN by name, in the kernel's units (bytes and pages)."""
    return dict(zip(ZRAM, (int(word) for word in read(f"/sys/block/{Path(device).name}/mm_stat").split()), strict=False))


def smaps_rollup(process: int) -> dict[str, int]:
    """Read the bytes of a process from smaps_rollup: Rss, Pss, Anonymous, Swap, SwapPss, ..."""
    rows = (line.split() for line in read(f"/proc/{process}/smaps_rollup").splitlines()[1:])
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) == 3}


@dataclass(frozen=True)
class Sample:
    """The counters at one time."""

    vmstat: dict[str, int]
    stat: dict[str, int]
    pressure: dict[str, int]
    pressure_scope: str
    kernel_kills: int
    others_swapping: bool

    @classmethod
    def take(cls, group: Group, ours: str | None, counts: dict[str, int] | None = None) -> Sample:
        """Read all counters now; `ours` is the path of this run's swap area, `counts` replaces the
        kernel's counts if the pager swaps.
        """
        rows, stat = table(read("/proc/vmstat")) | (counts or {}), group.stat()
        own = group.path / "memory.pressure"
        return cls(
            {name: rows.get(name, 0) for name in VMSTAT},
            {name: stat.get(name, 0) for name in STAT},
            pressure(read(own if own.exists() else "/proc/pressure/memory")),
            "group" if own.exists() else "machine",
            group.kernel_kills(),
            any(area != ours for area in swaps()),
        )

    def since(self, before: Sample) -> dict[str, int]:
        """Compute the counts from `before` to this sample; sizes in bytes, other page counts in
        pages.
        """
        delta = {name: self.vmstat[name] - before.vmstat[name] for name in VMSTAT}
        refaults = {name: self.stat[name] - before.stat[name] for name in STAT if name.startswith("workingset")}
        return {
            "swap_in_bytes": (delta["pswpin"] + delta["zswpin"]) * PAGE,
            "swap_out_bytes": (delta["pswpout"] + delta["zswpout"]) * PAGE,
            "direct_reads": delta["direct_reads"],
            "disk_swap_in_bytes": delta["pswpin"] * PAGE,
            "disk_swap_out_bytes": delta["pswpout"] * PAGE,
            "zero_pages_in": delta["swpin_zero"],
            "zero_pages_out": delta["swpout_zero"],
            "read_ahead_pages": delta["swap_ra"],
            "read_ahead_hits": delta["swap_ra_hit"],
            "major_faults": delta["pgmajfault"],
            "anon_refaults": refaults["workingset_refault_anon"],
            "file_refaults": refaults["workingset_refault_file"],
            "psi_some_us": self.pressure.get("some", 0) - before.pressure.get("some", 0),
            "psi_full_us": self.pressure.get("full", 0) - before.pressure.get("full", 0),
            "kernel_kills": self.kernel_kills - before.kernel_kills,
        }
