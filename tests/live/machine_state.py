"""The machine's state that a run could leave behind: two readings are equal when nothing is left."""

import re
import time
from pathlib import Path

from swaplab.worlds.procfs import memory_cgroup, mounts, read

SETTINGS = (
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/page-cluster",
    "/proc/sys/vm/unprivileged_userfaultfd",
    *(f"/sys/module/zswap/parameters/{name}" for name in ("enabled", "compressor", "max_pool_percent")),
)


def machine_state() -> dict[str, object]:
    """Swaps, zram, loops, mounts, our cgroups, settings, our directories and our processes."""
    tracing = [Path(point) for point, kind, _ in mounts() if kind == "tracefs"]
    groups = [at for version in (1, 2) if (at := memory_cgroup(version))]
    limits = [Path(point) for point, kind, options in mounts() if kind == "cgroup" and {"blkio", "freezer"} & set(options)]
    return {
        "swaps": [line.split()[:2] for line in read("/proc/swaps").splitlines()[1:]],
        "zram": {path.name: read(path / "disksize") for path in sorted(Path("/sys/block").glob("zram*"))},
        "loops": sorted(read(path) for path in Path("/sys/block").glob("loop*/loop/backing_file")),
        "mounts": sorted((point, kind) for point, kind, _ in mounts() if kind != "autofs"),
        "cgroups": sorted(str(path) for group in [*groups, *limits] for path in group.glob("swaplab-[0-9]*")),
        "tracing": sorted(str(path) for at in tracing for path in at.glob("instances/swaplab-*")),
        "settings": {path: read(path) for path in SETTINGS},
        "read-ahead": {str(path): read(path) for path in sorted(Path("/sys/block").glob("[!lz]*/queue/read_ahead_kb"))},
        "directories": sorted(str(path) for path in Path("/var/tmp").glob("swaplab-*")),
        "apps": apps(),
    }


def apps(seconds: float = 5) -> list[str]:
    """Processes that are apps of ours: by name, dead ones included, or by the control group of a run. A dead one is given some seconds,
    for who collects it may be slow (this machine's init looks once a second), but one that stays counts."""
    deadline = time.monotonic() + seconds
    while True:
        found = {path.parent.name: read(path).rpartition(") ")[2][:1] for path in Path("/proc").glob("[0-9]*/stat") if ours(path)}
        if "Z" not in found.values() or time.monotonic() > deadline:
            return sorted(found)
        time.sleep(0.05)


def ours(stat: Path) -> bool:
    """Whether a process, by its `/proc/N/stat`, is an app of a run."""
    return "(swaplab-app)" in read(stat) or re.search(r"/swaplab-\d", read(stat.with_name("cgroup"))) is not None
