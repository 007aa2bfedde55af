"""`--target uml`: the same experiment inside user-mode Linux, a real kernel in an ordinary process.

It needs no root and touches nothing of the host: swap, zram and control groups are the guest's. Its vmscan is real, so what it counts
(swap-ins, swap-outs, kills) is worth something; its time is not, so every time is left out of the document.
The guest sees the host's files read-only, through hostfs; its disk for swap files is a sparse file in a temporary directory.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from swaplab import Failed
from swaplab.live.bench import process
from swaplab.live.bench.spec import changed, dumped, memory_bytes, swap_sizes, table
from swaplab.live.capabilities import require
from swaplab.live.target.request import Request, carried
from swaplab.live.undo import command

MIB = 2**20
#: What the guest's kernel, Python and the page cache need besides the apps.
OVERHEAD = 320 * MIB
#: Kernel modules that the Debian build doesn't have built in, in the order in which they need each other.
MODULES = ("mm/zsmalloc.ko", "lib/lz4/lz4_compress.ko", "crypto/lz4.ko", "drivers/block/zram/zram.ko", "drivers/block/loop.ko")
#: What a run takes that only the guest's clock would give.
TIMES = ("ux", "launch_ms", "switch_ms", "cold_ms", "calibration", "seconds", "psi_some_us", "psi_full_us")

INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C SWAPLAB_STATE=/run/swaplab
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs tmpfs /tmp
mount -t ext4 /dev/ubda /var/tmp
chmod 1777 /var/tmp
mkdir -p /dev/shm /run/out
mount -t tmpfs tmpfs /dev/shm
mount -t hostfs -o OUT none /run/out
KEPT
mount -t cgroup2 none /sys/fs/cgroup
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
cd /run
COMMAND > /run/out/document.json 2> /run/out/errors
echo $? > /run/out/code
sync
echo o > /proc/sysrq-trigger
sleep 60
"""


def run(request: Request, seconds: float = 1800) -> dict[str, Any]:
    """Run the experiment in a guest, for at most `seconds`."""
    user, say = process.User.named(request.user or process.default_user(), request.as_root).name, request.say
    if not request.dry_run:
        require(["uml"], "swaplab bench --target uml")
    kernel = shutil.which("linux.uml") or shutil.which("linux") or "linux.uml"
    wanted, files = carried(changed(request.experiment, calibrate=False), "/run/out/")
    largest = max(swap_sizes(table(wanted)))
    memory = memory_bytes(table(wanted)) + largest + OVERHEAD
    with tempfile.TemporaryDirectory(prefix="swaplab-uml-") as name:
        at = Path(name)
        at.chmod(0o755)
        disk, init = at / "disk", at / "init"
        size = 2 * largest + 256 * MIB
        boot = [kernel, f"mem={memory // MIB}M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"ubd0={disk}"]
        boot += [f"init={init}", "con=null", "con0=null,fd:2", "quiet", "panic=-1", f"umid=swaplab-{os.getpid()}", f"uml_dir={at}/"]
        say(f"truncate --size {size} {disk}; mkfs.ext4 {disk}")
        say(shlex.join(boot))
        if request.dry_run:
            return {"schema": 1, "kind": "dry-run", "experiment": dumped(wanted), "schemes": []}
        with disk.open("wb") as file:
            file.truncate(size)
        command("mkfs.ext4", "-q", "-F", "-E", "root_owner=0:0,lazy_itable_init=0", str(disk))
        for carried_file, text in (files | {"experiment.json": json.dumps(dumped(wanted))}).items():
            (at / carried_file).write_text(text)
        inside = [sys.executable, "-m", "swaplab.live.target.guest", "/run/out/experiment.json", user]
        inside += [str(path) for part in MODULES if (path := _module(part))]
        init.write_text(INIT.replace("OUT", str(at)).replace("KEPT", _kept()).replace("COMMAND", shlex.join(inside)))
        init.chmod(0o755)
        _boot(boot, at, seconds)
        return _document(at)


def _kept() -> str:
    """Python and this package, mounted once more where the guest's own folders hide them (a checkout below /tmp, say)."""
    hidden = [Path("/tmp"), Path("/var/tmp"), Path("/run")]
    needed = sorted({Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[3]})
    quoted = [shlex.quote(str(path)) for path in needed if any(path.is_relative_to(folder) for folder in hidden)]
    return "\n".join(f"mkdir -p {path} && mount -t hostfs -o {path} none {path}" for path in quoted)


def _module(part: str) -> Path | None:
    return next(iter(sorted(Path("/usr/lib/uml/modules").glob(f"*/kernel/{part}"))), None)


def _boot(boot: list[str], at: Path, seconds: float) -> None:
    with (at / "console").open("wb") as console:
        guest = subprocess.Popen(boot, stdin=subprocess.DEVNULL, stdout=console, stderr=console, cwd=at, start_new_session=True)
        try:
            guest.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"user-mode Linux did not end within {seconds:g} s: {_tail(at / 'console')} {_tail(at / 'errors')}") from error
        finally:
            if guest.poll() is None:
                os.killpg(guest.pid, signal.SIGKILL)
                guest.wait()


def _tail(path: Path) -> str:
    return " ".join(path.read_text(errors="replace")[-400:].split()) if path.exists() else ""


def _document(at: Path) -> dict[str, Any]:
    code = (at / "code").read_text().strip() if (at / "code").exists() else "none"
    if code != "0":
        raise Failed(f"the run inside user-mode Linux ended with code {code}: {_tail(at / 'errors')} {_tail(at / 'console')}")
    document: dict[str, Any] = json.loads((at / "document.json").read_text())
    document |= {"target": "uml", "kind": "emulated", "why_no_times": "user-mode Linux is right for counts and kills, never for timing"}
    for row in document["schemes"]:
        row["kind"] = "emulated"
        row |= dict.fromkeys(TIMES)
        for visit in row["visits"]:
            visit["ms"] = None
    return document
