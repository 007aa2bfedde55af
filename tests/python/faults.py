"""Fault injection into file system calls of a command, by the library `faults.c`: errors, partial
writes, and SIGKILL.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from command import SWAPLAB, Done

BEFORE, AFTER, HALF = 0, -1, -2
#: Faults of each call in addition to SIGKILL before it: error numbers, a write of half the bytes,
#: SIGKILL after it.
ERRORS: dict[str, list[int]] = {
    "open": [errno.EROFS, errno.EMFILE],
    "write": [errno.ENOSPC, errno.EINTR, HALF, AFTER],
    "fsync": [errno.EIO],
    "truncate": [errno.ENOSPC],
    "rename": [errno.EIO],
    "link": [errno.EIO],
    "unlink": [errno.EIO],
    "mkdir": [errno.ENOSPC],
    "rmdir": [errno.EBUSY],
}
#: Faults after which a program must still succeed.
HARMLESS = (errno.EINTR, HALF)


@dataclass(frozen=True)
class Fault:
    """A fault at the nth call below a place."""

    at: int
    call: str
    how: int

    def __str__(self) -> str:
        what = {BEFORE: "SIGKILL before it", AFTER: "SIGKILL after it", HALF: "half"}.get(self.how) or errno.errorcode[self.how]
        return f"{self.call} {self.at}: {what}"

    @property
    def kills(self) -> bool:
        return self.how in (BEFORE, AFTER)


@dataclass(frozen=True)
class Hit:
    """The result of a command with an injected fault."""

    done: Done
    calls: list[str]

    @property
    def was_injected(self) -> bool:
        return any(line.startswith("HIT ") for line in self.calls)


@cache
def library() -> Path:
    """Build the library, once per session. Returns its path."""
    built = Path(tempfile.mkdtemp(prefix="swaplab-faults-")) / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", built, Path(__file__).with_name("faults.c")], check=True)
    return built


def run(place: Path, words: list[str], fault: Fault | None = None, clock: int = 0, cwd: Path | None = None) -> Hit:
    """Run `swaplab` with these arguments and count its calls below `place`, which is the default
    working directory.
    """
    log = library().with_name(f"log-{os.getpid()}")
    log.unlink(missing_ok=True)
    environment = os.environ | {"LD_PRELOAD": str(library()), "FAULT_PLACE": f"{place}/", "FAULT_LOG": str(log)}
    environment |= {"FAULT_AT": str(fault.at), "FAULT_HOW": str(fault.how)} if fault else {}
    environment |= {"FAULT_CLOCK": str(clock)} if clock else {}
    done = subprocess.run([SWAPLAB, *words], capture_output=True, text=True, timeout=120, cwd=cwd or place, env=environment)
    calls = log.read_text().splitlines() if log.exists() else []
    return Hit(Done(done.returncode, done.stdout, done.stderr), calls)


def faults_of(calls: list[str]) -> list[Fault]:
    """List every fault at every call of a traced run."""
    names = [line.split()[0] for line in calls]
    return [Fault(at, call, how) for at, call in enumerate(names, 1) for how in (BEFORE, *ERRORS[call])]


def violation(hit: Hit, fault: Fault) -> str | None:
    """Return what is wrong with the command's end, else None: only SIGKILL may kill it; an error is
    one line or has no effect.
    """
    done = hit.done
    said = [line for line in done.err.splitlines() if line.startswith("swaplab: ")]
    if not hit.was_injected:
        return "the fault was never injected"
    if "Traceback" in done.err or "panicked" in done.err:
        return done.err
    if fault.kills:
        return None if done.code in (-signal.SIGKILL, 128 + signal.SIGKILL) else f"exit code {done.code} after SIGKILL: {done.err}"
    if fault.how in HARMLESS:
        return None if done.code == 0 else f"exit code {done.code}: {done.err}"
    if done.code not in (0, 1, 2) or (done.code != 0 and len(said) != 1):
        return f"exit code {done.code}: {done.err}"
    return None
