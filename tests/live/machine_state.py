"""The state of the machine that a run changes. If it is equal before and after a run, the run has
undone all its changes.
"""

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
    """Read swap areas, zram and loop devices, mounts, settings, and swaplab's control groups,
    directories and processes.
    """
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
    """The process ids of a run's apps, including zombies.

    Zombies are given some seconds to be reaped, as their parent can be slow (some inits reap once a
    second). Those that remain count.
    """
    deadline = time.monotonic() + seconds
    while True:
        states = {path.parent.name: read(path).rpartition(") ")[2][:1] for path in Path("/proc").glob("[0-9]*/stat") if is_app(path)}
        if "Z" not in states.values() or time.monotonic() > deadline:
            return sorted(states)
        time.sleep(0.05)


def is_app(stat: Path) -> bool:
    """Whether a process is an app of a run, by its name or its control group. `stat` is its
    `/proc/N/stat`.
    """
    return "(swaplab-app)" in read(stat) or re.search(r"/swaplab-\d", read(stat.with_name("cgroup"))) is not None
