"""Capabilities of this machine, found by probes. A probe changes nothing; each capability says what
needs it and why it is missing.

A capability is one function and one line of PROBES. A probe returns (available, why): `why` is the
fact that the probe examined.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from swaplab.core.errors import NotSupported
from swaplab.worlds.procfs import memory_cgroup, mounts, read, syscall, tracing_directory

Probed = tuple[bool, str]


@dataclass(frozen=True)
class Capability:
    """A feature that a machine has or lacks."""

    name: str
    available: bool
    needed_for: tuple[str, ...]
    why: str


def _root() -> Probed:
    bits = next((line.split()[1] for line in read("/proc/self/status").splitlines() if line.startswith("CapEff:")), "0")
    # root in a container often may not mount file systems or turn swap on
    admin = bool(int(bits, 16) >> 21 & 1)
    return os.geteuid() == 0 and admin, f"effective user id {os.geteuid()}, {'with' if admin else 'without'} CAP_SYS_ADMIN"


def _cores() -> Probed:
    usable = len(os.sched_getaffinity(0))
    return usable > 0, f"{usable} usable, {os.cpu_count()} present, {platform.machine()}, Linux {platform.release()}"


def _memory() -> Probed:
    fields = dict(line.split(":", 1) for line in read("/proc/meminfo").splitlines() if ":" in line)
    total, free = (int(fields.get(key, "0 kB").split()[0]) // 1024 for key in ("MemTotal", "MemAvailable"))
    return free >= 2048, f"{total} MiB, {free} MiB available; the built-in experiments need 2048 MiB"


def _disk() -> Probed:
    free = shutil.disk_usage("/var/tmp").free // 2**20
    return free >= 2048, f"{free} MiB free under /var/tmp; the built-in experiments need 2048 MiB"


def _program(*names: str) -> Callable[[], Probed]:
    def probe() -> Probed:
        for name in names:
            path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
            if path:
                return True, path
        return False, f"no program {' or '.join(names)} on the path"

    return probe


def _exists(path: str, missing: str) -> Callable[[], Probed]:
    return lambda: (True, path) if os.path.exists(path) else (False, f"{path} is missing: {missing}")


def _swap() -> Probed:
    if not os.path.exists("/proc/swaps"):
        return False, "/proc/swaps is missing: a kernel without CONFIG_SWAP"
    on = [line.split()[0] for line in read("/proc/swaps").splitlines()[1:]]
    return True, f"on now: {', '.join(on)}" if on else "no swap is on now"


def _swap_file() -> Probed:
    kind = ""
    for point, system, _ in sorted(mounts(), key=lambda row: len(row[0])):
        if Path("/var/tmp").is_relative_to(point):
            kind = system
    return kind in ("ext4", "xfs", "f2fs"), f"/var/tmp is on {kind}; swap files are tried on ext4, xfs, f2fs"


def _zram() -> Probed:
    if not os.path.exists("/sys/class/zram-control"):
        return False, "/sys/class/zram-control is missing: load the zram module, or a kernel without CONFIG_ZRAM"
    return True, f"algorithms: {read('/sys/block/zram0/comp_algorithm') or 'unknown until a device is added'}"


def _zram_feature(file: str, option: str) -> Callable[[], Probed]:
    def probe() -> Probed:
        if not os.path.exists("/sys/block/zram0"):
            return False, "no zram device exists"
        return os.path.exists(f"/sys/block/zram0/{file}"), f"/sys/block/zram0/{file} ({option})"

    return probe


def _zswap() -> Probed:
    at = "/sys/module/zswap/parameters"
    if not os.path.isdir(at):
        return False, f"{at} is missing: a kernel without CONFIG_ZSWAP"
    return True, f"enabled={read(f'{at}/enabled')} compressor={read(f'{at}/compressor')} max_pool_percent={read(f'{at}/max_pool_percent')}"


def _tmpfs_noswap() -> Probed:
    context, why = syscall("fsopen", b"tmpfs", 0)
    if context < 0:
        return False, f"fsopen(tmpfs): {why}"
    try:
        done, why = syscall("fsconfig", context, 0, b"noswap", None, 0)
        return done == 0, "tmpfs takes noswap" if done == 0 else f"tmpfs refuses noswap: {why}; Linux 6.4 and later have it"
    finally:
        os.close(context)


def _userfaultfd(feature: int, label: str) -> Callable[[], Probed]:
    def probe() -> Probed:
        descriptor, why = syscall("userfaultfd", os.O_CLOEXEC | 1)
        if descriptor < 0:
            return False, f"userfaultfd: {why}"
        try:
            api = fcntl.ioctl(descriptor, 0xC018AA3F, struct.pack("QQQ", 0xAA, 0, 0))
            features = struct.unpack("QQQ", api)[1]
            return features & feature == feature, f"{label} (feature bits {features:#x})"
        except OSError as error:
            return False, f"userfaultfd handshake: {error.strerror}"
        finally:
            os.close(descriptor)

    return probe


def _cgroup(version: int) -> Callable[[], Probed]:
    def probe() -> Probed:
        at = memory_cgroup(version)
        if at is None:
            return False, f"no cgroup v{version} hierarchy with a memory controller is mounted"
        return os.access(at, os.W_OK), f"{at}" if os.access(at, os.W_OK) else f"{at} is not writable"

    return probe


def _psi() -> Probed:
    text = read("/proc/pressure/memory")
    return bool(text), "/proc/pressure/memory" if text else "/proc/pressure/memory can't be read: boot with psi=1"


def _ftrace() -> Probed:
    at = tracing_directory()
    if at:
        return True, str(at)
    if os.geteuid() == 0 and os.path.isdir("/sys/kernel/tracing"):
        return True, "tracefs is there, not mounted; it is mounted for the run"
    return False, "tracefs can't be read: it needs root and CONFIG_FTRACE"


def _perf() -> Probed:
    path = shutil.which("perf")
    if not path:
        return False, "no program perf on the path"
    try:
        out = subprocess.run(
            [path, "stat", "-x,", "-e", "page-faults,instructions", "true"], capture_output=True, text=True, timeout=10, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"perf stat: {error}"
    hardware = "instructions" in out and "<not supported>,,instructions" not in out
    works = "page-faults" in out and "<not supported>,,page-faults" not in out
    return works, f"{path}: software events {'work' if works else 'fail'}, hardware counters {'work' if hardware else 'are not there'}"


def _mglru() -> Probed:
    text = read("/sys/kernel/mm/lru_gen/enabled")
    return bool(text), f"/sys/kernel/mm/lru_gen/enabled = {text}" if text else "a kernel without CONFIG_LRU_GEN"


def _dax() -> Probed:
    devices = [str(path) for path in [*Path("/dev").glob("dax*"), *Path("/dev").glob("pmem*")]]
    return bool(devices), ", ".join(devices) or "no /dev/dax* or /dev/pmem*"


def _numa() -> Probed:
    nodes = sorted(path.name for path in Path("/sys/devices/system/node").glob("node[0-9]*"))
    return len(nodes) > 1, f"{len(nodes)} node(s): {', '.join(nodes)}"


PAGER_SWAP = ("kernel: nvm-direct", "kernel: nvm-copy", "kernel: nvm-cache")


KERNEL_SWAP = ("kernel: flash", "kernel: sd-card", "kernel: ramdisk", "kernel: zram", "kernel: zswap")

#: The name of a capability, what needs it, and its probe.
ProbeLine = tuple[str, tuple[str, ...], Callable[[], Probed]]

PROBES: tuple[ProbeLine, ...] = (
    ("root", (*KERNEL_SWAP, "kernel: none", *PAGER_SWAP, "doctor --repair"), _root),
    ("cores", ("everything",), _cores),
    ("memory", ("kernel",), _memory),
    ("disk", ("kernel: flash", "kernel: sd-card", "kernel: zswap"), _disk),
    ("swap", KERNEL_SWAP, _swap),
    ("swap-file", ("kernel: flash", "kernel: sd-card", "kernel: zswap"), _swap_file),
    ("zram", ("kernel: zram",), _zram),
    ("zram-writeback", (), _zram_feature("backing_dev", "CONFIG_ZRAM_WRITEBACK")),
    ("zram-multi-comp", (), _zram_feature("recomp_algorithm", "CONFIG_ZRAM_MULTI_COMP")),
    ("zswap", ("kernel: zswap",), _zswap),
    (
        "loop",
        ("kernel: ramdisk", "kernel: sd-card"),
        _exists("/dev/loop-control", "load the loop module, or a kernel without CONFIG_BLK_DEV_LOOP"),
    ),
    ("tmpfs-noswap", ("kernel: ramdisk", *PAGER_SWAP), _tmpfs_noswap),
    ("swap-tools", KERNEL_SWAP, _program("mkswap")),
    ("userfaultfd", ("memory", *PAGER_SWAP), _userfaultfd(0, "user faults")),
    (
        "userfaultfd-wp",
        ("memory: nvm-direct", *PAGER_SWAP),
        _userfaultfd(1, "write-protect faults"),
    ),
    ("userfaultfd-minor-shmem", (), _userfaultfd(1 << 10, "minor faults on shared memory")),
    ("cgroup-v1-memory", ("kernel (this or cgroup-v2-memory)",), _cgroup(1)),
    ("cgroup-v2-memory", ("kernel (this or cgroup-v1-memory)",), _cgroup(2)),
    ("psi", ("kernel: stall times",), _psi),
    ("ftrace", ("kernel: swap and block events", "trace capture --method block"), _ftrace),
    ("perf", ("make bench",), _perf),
    ("qemu-user", ("trace capture --method qemu",), _program("qemu-x86_64", "qemu-aarch64")),
    ("valgrind", ("trace capture --method lackey",), _program("valgrind")),
    ("chromium", ("app chromium",), _program("chromium", "chromium-browser", "google-chrome")),
    ("redis", ("app redis",), _program("redis-server")),
    ("node", ("app node",), _program("node", "nodejs")),
    ("sqlite", ("app sqlite",), _program("sqlite3")),
    ("adb", ("kernel: target adb",), _program("adb")),
    ("ssh", ("kernel: target ssh",), _program("ssh")),
    ("mglru", ("kernel: comparing its own policies",), _mglru),
    ("damon", ("trace import --format damon: fresh captures",), _exists("/sys/kernel/mm/damon", "a kernel without CONFIG_DAMON_SYSFS")),
    ("idle-page-tracking", (), _exists("/sys/kernel/mm/page_idle/bitmap", "a kernel without CONFIG_IDLE_PAGE_TRACKING")),
    ("numa", (), _numa),
    ("dax", (), _dax),
)


def capabilities(probes: Iterable[ProbeLine] | None = None) -> list[Capability]:
    """Probe every capability of `probes`, by default PROBES."""
    return [_capability(*probe) for probe in (PROBES if probes is None else probes)]


def _capability(name: str, needed: tuple[str, ...], probe: Callable[[], Probed]) -> Capability:
    try:
        available, why = probe()
    except OSError as error:
        available, why = False, f"the probe failed: {error}"
    return Capability(name, available, needed, why)


def missing(names: Iterable[str]) -> list[Capability]:
    """Probe the capabilities `names` and return those that this machine lacks."""
    wanted = set(names)
    return [capability for capability in (_capability(*probe) for probe in PROBES if probe[0] in wanted) if not capability.available]


def require(names: Iterable[str], purpose: str) -> None:
    """Raise NotSupported, with every missing capability of `names` and its reason, if any is
    missing.
    """
    if lacking := missing(names):
        raise NotSupported(f"{purpose} needs {', '.join(f'{capability.name} ({capability.why})' for capability in lacking)}")
