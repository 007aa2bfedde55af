"""The machine's state that a run could leave behind: two readings are equal when nothing is left."""

from pathlib import Path

from swaplab.live.capabilities import memory_cgroup, mounts, read

SETTINGS = (
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/page-cluster",
    *(f"/sys/module/zswap/parameters/{name}" for name in ("enabled", "compressor", "max_pool_percent")),
)


def machine_state() -> dict[str, object]:
    """Swaps, zram, loops, mounts, our cgroups, settings, our directories and our processes."""
    tracing = [Path(point) for point, kind, _ in mounts() if kind == "tracefs"]
    groups = [at for version in (1, 2) if (at := memory_cgroup(version))]
    return {
        "swaps": [line.split()[:2] for line in read("/proc/swaps").splitlines()[1:]],
        "zram": {path.name: read(path / "disksize") for path in sorted(Path("/sys/block").glob("zram*"))},
        "loops": sorted(read(path) for path in Path("/sys/block").glob("loop*/loop/backing_file")),
        "mounts": sorted((point, kind) for point, kind, _ in mounts() if kind != "autofs"),
        "cgroups": sorted(str(path) for group in groups for path in group.glob("swaplab-*")),
        "tracing": sorted(str(path) for at in tracing for path in at.glob("instances/swaplab-*")),
        "settings": {path: read(path) for path in SETTINGS},
        "directories": sorted(str(path) for path in Path("/var/tmp").glob("swaplab-*")),
        "apps": sorted(path.parent.name for path in Path("/proc").glob("[0-9]*/stat") if alive(read(path))),
    }


def alive(stat: str) -> bool:
    """Whether a process is an app of ours that runs: one that is dead waits for init to collect it, which is init's business."""
    name, _, rest = stat.partition(") ")
    return name.endswith("(swaplab-app") and rest[:1] not in ("Z", "X")
