"""Programs under the pager: the counters of a run's processes, read from the files that the pagers
write.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from swaplab._core import pager_account, pager_counters, pager_unreachable
from swaplab.core.errors import NotSupported

MAGIC = b"SWAPLAB1"
#: Values of the counter `state`: of a running process, and of one that has ended normally.
RUNNING = 1
ENDED = 2
#: Less unmanaged memory than this is not reported: it is the loader's.
LITTLE = 1 << 20
#: Counters that are not summed over processes, as each process has its own budget.
LARGEST = ("dram_limit_bytes", "dram_peak_bytes", "late_peak_bytes", "unmanaged_peak_bytes", "anonymous_peak_bytes")
SUMS = (
    "swap_outs", "unchanged", "direct_reads", "copied_pages", "read_ahead", "faults", "nvm_bytes", "flash_bytes", "store_full", "forks",
    "stuck_bytes", "unmanaged_bytes", "code_bytes", "own_bytes", "anonymous_bytes", "medium_read_ns", "medium_write_ns", "medium_error_ns",
)  # fmt: skip


#: Mode of the directories of runs.
MODE = 0o711 if os.getuid() == 0 else 0o700
#: Files of counters are smaller than this.
LARGEST_FILE = 1 << 24


def library() -> Path:
    """Return the path of the preload library, which `make build` puts into the package. Raises
    NotSupported if it is missing.
    """
    path = Path(__file__).parents[2] / "_native" / "libswaplab_preload.so"
    if not path.exists():
        raise NotSupported(f"{path}: the preload library is not built; `make build` builds it")
    return path.resolve()


def runs_directory() -> Path:
    """Return the directory of the statistics of this user's runs, which only the user can list.
    Raises NotSupported for wrong permissions.

    Other users may traverse root's, to reach the directories of programs that have changed to their
    user ID.
    """
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp") / f"swaplab-{os.getuid()}"
    base.mkdir(mode=MODE, exist_ok=True)
    status = base.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077 & ~MODE:
        raise NotSupported(f"{base}: not a directory of yours alone (mode {MODE:04o}); remove it")
    base.chmod(MODE)
    return base


def new_run() -> Path:
    """Create a directory for a run's statistics. Directories of dead runs are removed."""
    base = runs_directory()
    for old in base.iterdir():
        if old.name.isdigit() and not Path("/proc", old.name).exists():
            shutil.rmtree(old, ignore_errors=True)
    path = base / str(os.getpid())
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=MODE)
    return path


@dataclass(frozen=True)
class Process:
    """The counters of a process, now or at its end."""

    pid: int
    counters: dict[str, int]


def processes(run: Path) -> list[Process]:
    """Read the counters of every process of a run, oldest first."""
    names = pager_counters()
    counted = []
    files = [path for path in run.rglob("*") if stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_size < LARGEST_FILE]
    for path in sorted(files, key=lambda p: p.lstat().st_ctime_ns):
        data = path.read_bytes()
        if data[:8] == MAGIC:
            counters = dict(zip(names, struct.unpack_from(f"<{len(names)}Q", data, 8), strict=True))
            account = pager_account(counters["pid"], path) if counters["state"] == RUNNING else None
            if account is not None:
                # The pager updates these counters only occasionally; they can be read from outside
                # at any time.
                counters |= dict(zip(("dram_bytes", "unmanaged_bytes", "anonymous_bytes"), account, strict=True))
            counted.append(Process(counters["pid"], counters))
    return counted


def totals(counted: list[Process]) -> dict[str, int]:
    """Combine the counters of a run: the maximum over processes of `LARGEST`, the sums of
    `SUMS`.
    """
    largest = {name: max((p.counters[name] for p in counted), default=0) for name in LARGEST}
    return largest | {name: sum(p.counters[name] for p in counted) for name in SUMS}


#: The table of a run that `exec --stats` writes.
Summary = dict[str, int | float | None | list[dict[str, int]]]


def summary(counted: list[Process]) -> Summary:
    """Build the table of a run: totals, times, and a row per process."""
    total: Summary = {**totals(counted)}
    total["pager_cpu_s"] = sum(p.counters["pager_cpu_ns"] for p in counted) / 1e9
    charged = sum(p.counters["medium_read_ns"] + p.counters["medium_write_ns"] for p in counted)
    total["medium_error"] = sum(p.counters["medium_error_ns"] for p in counted) / charged if charged else None
    total["processes"] = [p.counters for p in counted]
    return total


def unmanaged_line(counted: list[Process]) -> str | None:
    """Describe the process with most unmanaged memory in one line; None if that is at most a tenth
    of its anonymous memory.
    """
    most = max(counted, key=lambda p: p.counters["unmanaged_peak_bytes"] - p.counters["own_bytes"], default=None)
    if most is None:
        return None
    own, total = most.counters["own_bytes"], most.counters["anonymous_peak_bytes"]
    unmanaged = most.counters["unmanaged_peak_bytes"] - own
    if unmanaged <= max((total - own) / 10, LITTLE):
        return None
    code = most.counters["code_bytes"] / 2**20
    return (
        f"process {most.pid}: {unmanaged / 2**20:.1f} of {total / 2**20:.1f} MiB of anonymous memory were not managed "
        f"(stacks, brk, private pages of files, the program's own system calls; {code:.1f} MiB of it code that it made)"
    )


def late_line(counted: list[Process]) -> str | None:
    """Describe the process that exceeded its budget most while its pager was late; None if by at
    most 5 %.
    """
    most = max(counted, key=lambda p: p.counters["late_peak_bytes"], default=None)
    if most is None or most.counters["late_peak_bytes"] <= most.counters["dram_limit_bytes"] / 20:
        return None
    late, limit = (most.counters[name] / 2**20 for name in ("late_peak_bytes", "dram_limit_bytes"))
    return (
        f"process {most.pid}: up to {late:.1f} MiB over its budget of {limit:.1f} MiB, while its pager got no processor or was slowed down"
    )


def check_program(path: Path) -> None:
    """Raise NotSupported for programs that cannot be preloaded: set-uid ones, static ones, those of
    another architecture.
    """
    if why := pager_unreachable(path):
        raise NotSupported(f"{path}: {why}")
