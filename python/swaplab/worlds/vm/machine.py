"""The QEMU process of a run, with flags under which a run gives the same bytes on every host.

All input of the guest is in its memory at the start, and its output is written to the serial line:
with a device that the host serves, virtual time would depend on the host's speed.
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

#: The processor model: ARMv8.0, so that later extensions in QEMU do not change the executed code.
CPU = "cortex-a57"
#: Interval in seconds at which the console is polled.
POLL_S = 0.05
#: Number of console lines in an error message.
LAST_LINES = 6
PANIC = b"Kernel panic"
MIB = 1 << 20


@dataclass(frozen=True)
class Machine:
    """The machine of a run."""

    kernel: Kernel
    initramfs: Path
    #: Bytes of memory that the kernel may use, and of all memory.
    guest_bytes: int
    total_bytes: int
    cpus: int
    #: A file that is loaded to an address before the machine starts.
    image: tuple[Path, int] | None
    wall_limit_s: float
    #: Command-line parameters of built-in drivers.
    words: tuple[str, ...] = ()
    #: A plugin of QEMU with its options.
    plugin: str | None = None

    def command(self, qemu: tools.Tools, console: Path) -> list[str]:
        """Build QEMU's command line."""
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
        if self.plugin:
            words += ["-plugin", self.plugin]
        for package in qemu.packages:
            if package.name == "qemu-system-data":
                words += ["-L", str(package.root / "usr/share/qemu")]
        return words

    def _command_line(self) -> str:
        words = ["console=ttyAMA0", "quiet", "loglevel=4", "panic=-1", "norandmaps", "nokaslr", "psi=1", "transparent_hugepage=madvise"]
        memory = [f"mem={self.guest_bytes // MIB}M"] if self.total_bytes > self.guest_bytes else []
        return " ".join([*words, *memory, *self.words])


def still_clock() -> Path:
    """Return the path of the library that freezes QEMU's date (see crates/still-clock). Raises
    NotSupported if it is missing.
    """
    path = Path(__file__).parents[2] / "_native" / "libswaplab_still_clock.so"
    if not path.is_file():
        raise NotSupported("the world vm needs libswaplab_still_clock.so: not in this installation; expected one built by `make`")
    return path


@dataclass
class Console:
    """The file of the serial line, read while it grows."""

    path: Path
    _at: int = 0
    _rest: bytes = b""

    def lines(self) -> list[bytes]:
        """Read the complete lines since the last call."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self._at)
            read = file.read()
        self._at += len(read)
        *lines, self._rest = (self._rest + read).replace(b"\r", b"").split(b"\n")
        return lines


def run(machine: Machine, console: Path, take_record: Callable[[records.AnyRecord], None], stopped: Callable[[], bool]) -> None:
    """Run a machine to its end. `take_record` is called with each record of the guest as it
    arrives.

    Raises `Failed` with the console's last lines if the guest panics, hangs or gives up, and
    `KeyboardInterrupt` if `stopped` returns true. QEMU has ended when this returns or raises.
    """
    qemu = tools.find(tools.QEMU)
    command = machine.command(qemu, console)
    still_clock_library = still_clock()
    # It has a process group of its own, so that Ctrl-C reaches only swaplab, which ends it below.
    process = subprocess.Popen(
        command,
        env={**qemu.environment, "LD_PRELOAD": str(still_clock_library)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    reader, last, ended, deadline = Console(console), [b""], False, time.monotonic() + machine.wall_limit_s
    panic = ""
    try:
        while True:
            has_exited = process.poll() is not None
            for line in reader.lines():
                record = _parse(line)
                if record is None:
                    last = [*last, line][-LAST_LINES:]
                    # Registers and a call trace follow the panic message, so it is not among the
                    # last lines.
                    panic = panic or (f": {line[line.index(PANIC) :].decode(errors='replace')}" if PANIC in line else "")
                    continue
                if isinstance(record, records.Failure):
                    raise Failed(f"the guest gave up: {record.message}{_last_lines(last)}")
                ended |= isinstance(record, records.End)
                take_record(record)
            if stopped():
                raise KeyboardInterrupt
            if has_exited:
                break
            if time.monotonic() > deadline:
                limit = f"run.vm.wall_limit = {machine.wall_limit_s:g} s"
                raise Failed(f"the guest took more than {limit} of the host's clock{_last_lines(last)}")
            time.sleep(POLL_S)
        if not ended:
            assert process.stderr is not None
            complaint = " ".join(process.stderr.read().decode(errors="replace").split())
            if process.returncode > 0 and complaint:
                raise NotSupported(f"the world vm needs QEMU to start: {complaint}")
            raise Failed(f"the guest stopped before its end{panic}{f' ({complaint})' if complaint else ''}{_last_lines(last)}")
    finally:
        _end(process)


def _parse(line: bytes) -> records.AnyRecord | None:
    try:
        return records.parse(line)
    except ValidationError as error:
        raise Failed(f"the guest wrote an unknown record: {line[:200].decode(errors='replace')} ({error.errors()[0]['msg']})") from error


def _last_lines(lines: list[bytes]) -> str:
    texts = [line.decode(errors="replace").strip() for line in lines if line.strip()]
    return f"; its console ends with: {' | '.join(texts)}" if texts else "; its console is empty"


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    if process.stderr is not None:
        process.stderr.close()
