"""Programs under the pager: what each run's processes count, read from the pages that the pagers write."""

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
#: What the counter `state` says of a process that has not ended, and of one that has ended in order.
RUNNING = 1
ENDED = 2
#: Less unmanaged memory than this is not worth a line: the loader's.
LITTLE = 1 << 20
#: Counters that do not add up over processes: each has its own budget.
LARGEST = ("dram_limit_bytes", "dram_peak_bytes", "late_peak_bytes", "unmanaged_peak_bytes", "anonymous_peak_bytes")
SUMS = (
    "swap_outs", "unchanged", "direct_reads", "copied_pages", "read_ahead", "faults", "nvm_bytes", "flash_bytes", "store_full", "forks",
    "stuck_bytes", "unmanaged_bytes", "code_bytes", "own_bytes", "anonymous_bytes", "medium_read_ns", "medium_write_ns", "medium_error_ns",
)  # fmt: skip


#: Of directories of runs.
MODE = 0o711 if os.getuid() == 0 else 0o700
#: A file of counters is smaller.
LARGEST_FILE = 1 << 24


def library() -> Path:
    """The preload library that `make build` put into the package."""
    path = Path(__file__).parents[2] / "_native" / "libswaplab_preload.so"
    if not path.exists():
        raise NotSupported(f"{path}: the preload library is not built; `make build` builds it")
    return path.resolve()


def runs_directory() -> Path:
    """Where this user's runs keep their statistics: a directory that the user alone can list. Others may pass through root's, to the
    directories of programs that have changed to their user."""
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp") / f"swaplab-{os.getuid()}"
    base.mkdir(mode=MODE, exist_ok=True)
    status = base.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077 & ~MODE:
        raise NotSupported(f"{base}: not a directory of yours alone (mode {MODE:04o}); remove it")
    base.chmod(MODE)
    return base


def new_run() -> Path:
    """A directory for one run's statistics. What runs that died left behind is removed on the way."""
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
    """One process's counters, as of now or of its end."""

    pid: int
    counters: dict[str, int]


def processes(run: Path) -> list[Process]:
    """What every process of a run counted, oldest first."""
    names = pager_counters()
    counted = []
    files = [path for path in run.rglob("*") if stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_size < LARGEST_FILE]
    for path in sorted(files, key=lambda p: p.lstat().st_ctime_ns):
        data = path.read_bytes()
        if data[:8] == MAGIC:
            counters = dict(zip(names, struct.unpack_from(f"<{len(names)}Q", data, 8), strict=True))
            account = pager_account(counters["pid"], path) if counters["state"] == RUNNING else None
            if account is not None:
                # The pager counts now and then; from outside the account can be taken at any time.
                counters |= dict(zip(("dram_bytes", "unmanaged_bytes", "anonymous_bytes"), account, strict=True))
            counted.append(Process(counters["pid"], counters))
    return counted


def totals(counted: list[Process]) -> dict[str, int]:
    """Counters of one run: the largest process's peaks, the sums of the others."""
    largest = {name: max((p.counters[name] for p in counted), default=0) for name in LARGEST}
    return largest | {name: sum(p.counters[name] for p in counted) for name in SUMS}


#: One run in one table, as `exec --stats` writes it.
Summary = dict[str, int | float | None | list[dict[str, int]]]


def summary(counted: list[Process]) -> Summary:
    """One run in one table: totals, times, one row a process."""
    total: Summary = {**totals(counted)}
    total["pager_cpu_s"] = sum(p.counters["pager_cpu_ns"] for p in counted) / 1e9
    charged = sum(p.counters["medium_read_ns"] + p.counters["medium_write_ns"] for p in counted)
    total["medium_error"] = sum(p.counters["medium_error_ns"] for p in counted) / charged if charged else None
    total["processes"] = [p.counters for p in counted]
    return total


def unmanaged_line(counted: list[Process]) -> str | None:
    """One line about the process that had most memory outside the pager's reach, if that was more than a tenth of all it had."""
    most = max(counted, key=lambda p: p.counters["unmanaged_peak_bytes"] - p.counters["own_bytes"], default=None)
    if most is None:
        return None
    own, whole = most.counters["own_bytes"], most.counters["anonymous_peak_bytes"]
    unmanaged = most.counters["unmanaged_peak_bytes"] - own
    if unmanaged <= max((whole - own) / 10, LITTLE):
        return None
    code = most.counters["code_bytes"] / 2**20
    return (
        f"process {most.pid}: {unmanaged / 2**20:.1f} of {whole / 2**20:.1f} MiB of anonymous memory were not managed "
        f"(stacks, brk, private pages of files, the program's own system calls; {code:.1f} MiB of it code that it made)"
    )


def late_line(counted: list[Process]) -> str | None:
    """One line about the process that outgrew its budget most while its pager's processor was taken away, if that was over a twentieth."""
    most = max(counted, key=lambda p: p.counters["late_peak_bytes"], default=None)
    if most is None or most.counters["late_peak_bytes"] <= most.counters["dram_limit_bytes"] / 20:
        return None
    late, limit = (most.counters[name] / 2**20 for name in ("late_peak_bytes", "dram_limit_bytes"))
    return f"process {most.pid}: up to {late:.1f} MiB over its budget of {limit:.1f} MiB, while its pager's processor was taken away"


def check_program(path: Path) -> None:
    """Refuse what preloading cannot reach: set-uid programs, static ones, those of another machine."""
    if why := pager_unreachable(path):
        raise NotSupported(f"{path}: {why}")
