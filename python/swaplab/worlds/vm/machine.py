"""QEMU as the machine: flags under which a run gives the same bytes anywhere, one process a run, watched until it ends.

What the guest is given is in its memory when it starts, and what it says goes out by the serial line: a device that the host serves would
stop the clock at the host's pace.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from swaplab.core.errors import Failed, NotSupported
from swaplab.worlds.vm import records, tools
from swaplab.worlds.vm.kernels import Kernel

#: The processor: plain ARMv8.0, so that no later extension of QEMU's changes what runs.
CPU = "cortex-a57"
#: What the driver looks at the guest for.
POLL_S = 0.05
#: Of the console, in an error.
LAST_LINES = 6
PANIC = b"Kernel panic"
MIB = 1 << 20


@dataclass(frozen=True)
class Machine:
    """One run's machine."""

    kernel: Kernel
    initramfs: Path
    #: Bytes that the kernel is told of, and that there are.
    guest_bytes: int
    total_bytes: int
    cpus: int
    #: A file that is in memory at an address when the machine starts.
    image: tuple[Path, int] | None
    wall_limit_s: float
    #: Parameters of what is built into the kernel.
    words: tuple[str, ...] = ()

    def command(self, qemu: tools.Tools, console: Path) -> list[str]:
        """QEMU's command line."""
        words = [
            str(qemu.paths[tools.QEMU.command]),
            "-M",
            "virt",
            "-cpu",
            CPU,
            "-smp",
            str(self.cpus),
            "-m",
            f"{self.total_bytes // MIB}M",
        ]
        words += ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1"]
        words += ["-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{console}"]
        words += ["-kernel", str(self.kernel.image), "-initrd", str(self.initramfs), "-append", self._command_line()]
        if self.image:
            words += ["-device", f"loader,file={self.image[0]},addr={self.image[1]:#x},force-raw=on"]
        for package in qemu.packages:
            if package.name == "qemu-system-data":
                words += ["-L", str(package.root / "usr/share/qemu")]
        return words

    def _command_line(self) -> str:
        words = ["console=ttyAMA0", "quiet", "loglevel=4", "panic=-1", "norandmaps", "nokaslr", "psi=1", "transparent_hugepage=madvise"]
        memory = [f"mem={self.guest_bytes // MIB}M"] if self.total_bytes > self.guest_bytes else []
        return " ".join([*words, *memory, *self.words])


def still_clock() -> Path:
    """The library in which QEMU's date stands still (crates/still-clock says why)."""
    path = Path(__file__).parents[2] / "_native" / "libswaplab_still_clock.so"
    if not path.is_file():
        raise NotSupported("the world vm needs libswaplab_still_clock.so: not in this installation; expected one built by `make`")
    return path


@dataclass
class Console:
    """The serial line's file, read as it grows."""

    path: Path
    _at: int = 0
    _rest: bytes = b""

    def lines(self) -> list[bytes]:
        """Whole lines since the last look."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self._at)
            read = file.read()
        self._at += len(read)
        *lines, self._rest = (self._rest + read).replace(b"\r", b"").split(b"\n")
        return lines


def run(machine: Machine, console: Path, told: Callable[[records.AnyRecord], None], stopped: Callable[[], bool]) -> None:
    """Run a machine to its end, and hand on what the guest says as it says it.

    Raises `Failed` with the console's last lines where the guest panics, hangs or gives up; `KeyboardInterrupt` where `stopped` is true.
    QEMU is gone when this returns or raises.
    """
    qemu = tools.find(tools.QEMU)
    command = machine.command(qemu, console)
    still = still_clock()
    # Of a process group of its own, so that Ctrl-C comes to us alone; it is ended below.
    process = subprocess.Popen(
        command,
        env={**qemu.environment, "LD_PRELOAD": str(still)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    reader, last, ended, deadline = Console(console), [b""], False, time.monotonic() + machine.wall_limit_s
    panic = ""
    try:
        while True:
            gone = process.poll() is not None
            for line in reader.lines():
                record = _parse(line)
                if record is None:
                    last = [*last, line][-LAST_LINES:]
                    # Registers and a call trace follow it, so it is none of the last lines.
                    panic = panic or (f": {line[line.index(PANIC) :].decode(errors='replace')}" if PANIC in line else "")
                    continue
                if isinstance(record, records.Failure):
                    raise Failed(f"the guest gave up: {record.message}{_words(last)}")
                ended |= isinstance(record, records.End)
                told(record)
            if stopped():
                raise KeyboardInterrupt
            if gone:
                break
            if time.monotonic() > deadline:
                raise Failed(f"the guest took more than run.vm.wall_limit = {machine.wall_limit_s:g} s of the host's clock{_words(last)}")
            time.sleep(POLL_S)
        if not ended:
            assert process.stderr is not None
            complaint = " ".join(process.stderr.read().decode(errors="replace").split())
            if process.returncode > 0 and complaint:
                raise NotSupported(f"the world vm needs QEMU to start: {complaint}")
            raise Failed(f"the guest stopped before its end{panic}{f' ({complaint})' if complaint else ''}{_words(last)}")
    finally:
        _end(process)


def _parse(line: bytes) -> records.AnyRecord | None:
    try:
        return records.parse(line)
    except ValidationError as error:
        raise Failed(
            f"the guest said what this driver does not know: {line[:200].decode(errors='replace')} ({error.errors()[0]['msg']})"
        ) from error


def _words(lines: list[bytes]) -> str:
    said = [line.decode(errors="replace").strip() for line in lines if line.strip()]
    return f"; its console ends with: {' | '.join(said)}" if said else "; it said nothing on its console"


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    if process.stderr is not None:
        process.stderr.close()
