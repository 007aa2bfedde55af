"""Undo operations of changes to the machine. Each is plain data, so that it can be written to the
journal before the change is made.

They are idempotent: undoing an absent change is not an error. Each kind is a class; KINDS maps the
names in the journal to them.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter

from swaplab.core.errors import Failed
from swaplab.worlds.procfs import mounts, read


def command(*argv: str, timeout: float = 120) -> str:
    """Run a command to completion, in a session of its own so that Ctrl-C does not reach it.
    Returns its output. Raises Failed.
    """
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin", "LC_ALL": "C"}
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, start_new_session=True, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{shlex.join(argv)}: {error}") from error
    if done.returncode != 0:
        raise Failed(f"{shlex.join(argv)}: {' '.join((done.stderr or done.stdout).split()) or f'exit code {done.returncode}'}")
    return done.stdout.strip()


def write(path: str | Path, value: str) -> None:
    """Write a value to a kernel file. Raises Failed."""
    try:
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Failed(f"echo {value} > {path}: {error.strerror}") from error


def swaps() -> list[str]:
    """List the paths of the active swap areas."""
    return [line.split()[0].replace("\\040", " ") for line in read("/proc/swaps").splitlines()[1:]]


def loops_over(file: str) -> list[str]:
    """List the loop devices backed by `file`."""
    backing_files = Path("/sys/block").glob("loop*/loop/backing_file")
    return [f"/dev/{path.parents[1].name}" for path in backing_files if read(path).removesuffix(" (deleted)") == file]


@dataclass(frozen=True)
class WriteBack:
    """Restore a setting's old value."""

    path: str
    value: str

    def perform(self) -> None:
        if os.path.exists(self.path):
            write(self.path, self.value)

    def __str__(self) -> str:
        return f"echo {self.value} > {self.path}"


@dataclass(frozen=True)
class SwapOff:
    """Turn a swap area off. Its pages are swapped in first, so their owners should have ended by
    then.
    """

    path: str

    def perform(self) -> None:
        if self.path in swaps():
            command("swapoff", self.path, timeout=300)

    def __str__(self) -> str:
        return f"swapoff {self.path}"


@dataclass(frozen=True)
class Unmount:
    """Unmount every mount at a mount point."""

    path: str

    def perform(self) -> None:
        for point, _, _ in mounts():
            if point == self.path:
                command("umount", self.path)

    def __str__(self) -> str:
        return f"umount {self.path}"


@dataclass(frozen=True)
class DetachLoops:
    """Detach the loop devices over a file that the run created."""

    file: str

    def perform(self) -> None:
        for device in loops_over(self.file):
            command("losetup", "--detach", device)
        deadline = time.monotonic() + 10
        while loops_over(self.file):
            if time.monotonic() > deadline:
                raise Failed(f"losetup --detach: a loop device over {self.file} stays")
            time.sleep(0.02)

    def __str__(self) -> str:
        return f"losetup --detach (the loop devices over {self.file})"


@dataclass(frozen=True)
class RemoveZram:
    """Reset and remove a zram device that the run added."""

    number: int

    def perform(self) -> None:
        device = f"/sys/block/zram{self.number}"
        if os.path.exists(device):
            write(f"{device}/reset", "1")
            write("/sys/class/zram-control/hot_remove", str(self.number))

    def __str__(self) -> str:
        return f"echo 1 > /sys/block/zram{self.number}/reset; echo {self.number} > /sys/class/zram-control/hot_remove"


@dataclass(frozen=True)
class RemoveFile:
    """Delete a file that the run created."""

    path: str

    def perform(self) -> None:
        Path(self.path).unlink(missing_ok=True)

    def __str__(self) -> str:
        return f"rm -f {self.path}"


@dataclass(frozen=True)
class RemoveTree:
    """Delete a directory that the run created, with its content; never across a mount point."""

    path: str

    def perform(self) -> None:
        if any(point.startswith(f"{self.path}/") or point == self.path for point, _, _ in mounts()):
            raise Failed(f"rm -r {self.path}: something is still mounted in it")
        if not re.search(r"/swaplab[-/]", self.path):
            raise Failed(f"rm -r {self.path}: not a directory of swaplab's")
        if os.path.isdir(self.path):
            command("rm", "-rf", "--one-file-system", self.path)

    def __str__(self) -> str:
        return f"rm -rf --one-file-system {self.path}"


@dataclass(frozen=True)
class RemoveInstance:
    """Stop and remove a tracing instance that the run created."""

    path: str

    def perform(self) -> None:
        if os.path.isdir(self.path):
            write(f"{self.path}/events/enable", "0")
            command("rmdir", self.path)

    def __str__(self) -> str:
        return f"rmdir {self.path}"


@dataclass(frozen=True)
class RemoveCgroup:
    """Kill every process in a control group that the run created, reclaim its page cache and remove
    it, child groups first.
    """

    path: str

    def perform(self) -> None:
        top = Path(self.path)
        if not top.is_dir():
            return
        below = sorted((path for path in top.rglob("*") if path.is_dir()), key=lambda path: len(path.parts), reverse=True)
        for group in [*below, top]:
            _empty(group)
            with contextlib.suppress(Failed):
                if (group / "memory.force_empty").exists():
                    write(group / "memory.force_empty", "0")
            deadline = time.monotonic() + 10
            while group.is_dir():
                try:
                    group.rmdir()
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise Failed(f"rmdir {group}: {error.strerror}") from error
                    time.sleep(0.02)

    def __str__(self) -> str:
        return f"kill -9 $(cat {self.path}/cgroup.procs); rmdir {self.path}"


def _empty(group: Path) -> None:
    deadline = time.monotonic() + 20
    while processes := [int(line) for line in read(group / "cgroup.procs").split() if line != "0"]:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if time.monotonic() > deadline:
            raise Failed(f"processes {processes} in {group} survive SIGKILL")
        time.sleep(0.02)


Undo = WriteBack | SwapOff | Unmount | DetachLoops | RemoveZram | RemoveFile | RemoveTree | RemoveInstance | RemoveCgroup
KINDS: dict[str, type[Undo]] = {kind.__name__: kind for kind in get_args(Undo)}


#: The journal's form of an undo operation: its kind and its fields.
Data = dict[str, str | int]


def to_data(undo: Undo) -> Data:
    """Convert an undo operation to the journal's form."""
    return {"kind": type(undo).__name__, **asdict(undo)}


def from_data(data: Data) -> Undo:
    """Convert the journal's form to an undo operation."""
    fields = {name: value for name, value in data.items() if name != "kind"}
    return TypeAdapter(KINDS[str(data["kind"])]).validate_python(fields)
