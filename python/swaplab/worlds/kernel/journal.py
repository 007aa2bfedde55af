"""The journal: every change to the machine is recorded with its undo operation before it is made,
and marked once it is undone.

Each run has a file in the state directory, which only root may write because its entries are
performed as root. The file is locked while the run is alive, so that a repair never undoes an
active run. The kernel's state does not survive a reboot, so of an earlier boot's entries only those
that name files are undone.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from swaplab.core.errors import Failed, NotSupported
from swaplab.core.signals import undisturbed
from swaplab.worlds.kernel.undo import Data, RemoveFile, RemoveTree, Undo, from_data, to_data
from swaplab.worlds.procfs import read

STATE = Path(os.environ.get("SWAPLAB_STATE", "/var/lib/swaplab"))


def _boot() -> str:
    return read("/proc/sys/kernel/random/boot_id")


@dataclass
class Machine:
    """The machine, which a run may change only by `step`, so that every change is recorded."""

    dry_run: bool = False
    say: Callable[[str], None] = lambda line: None
    _file: io.FileIO | None = field(default=None, repr=False)
    _next: int = 0

    @contextmanager
    def opened(self) -> Iterator[Machine]:
        """Hold the lock that allows one run at a time, and an open journal."""
        if self.dry_run:
            yield self
            return
        _prepare_state()
        with _only_run():
            path = STATE / f"{os.getpid()}-{_boot()[:8]}.journal"
            with path.open("wb", buffering=0) as self._file:
                fcntl.flock(self._file, fcntl.LOCK_EX)
                try:
                    self._record({"boot": _boot(), "pid": os.getpid()})
                    yield self
                finally:
                    with undisturbed():
                        self._file = None
                        _undo(path, lambda line: self.say(f"late: {line}"), False)

    def _record(self, entry: dict[str, str | int | Data]) -> None:
        assert self._file is not None, "a change outside `with machine.opened()`"
        _append(self._file, entry)

    @contextmanager
    def step(self, description: str, do: Callable[[], object], undo: Undo) -> Iterator[None]:
        """Make one reversible change: announce it, record its undo operation, perform it. It is
        undone on exit, also after an exception.
        """
        self.say(description)
        if self.dry_run:
            try:
                yield
            finally:
                self.say(str(undo))
            return
        number, self._next = self._next, self._next + 1
        self._record({"step": number, "what": description, "undo": to_data(undo)})
        try:
            do()
            yield
        finally:
            with undisturbed():
                undo.perform()
                # if the disk is full, a repair undoes the step again, which is harmless
                with contextlib.suppress(OSError):
                    self._record({"undone": number})


def _append(file: io.FileIO, entry: dict[str, str | int | Data]) -> None:
    """Append a line and sync it. It begins with a line break, because a full disk may have
    truncated the previous line.
    """
    line = f"\n{json.dumps(entry)}".encode()
    if file.write(line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file.name)
    os.fsync(file.fileno())


def _prepare_state() -> None:
    try:
        STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise NotSupported(f"changing the machine needs root: {STATE}: {error.strerror}") from error
    _require_own_state()


def _require_own_state() -> None:
    """Raise NotSupported if other users could write the operations that are performed as this
    user.
    """
    about = STATE.stat()
    if about.st_uid != os.geteuid() or about.st_mode & 0o022:
        why = "because root performs the operations in it"
        raise NotSupported(f"{STATE} must belong to user {os.geteuid()} and be writable by no other user, {why}")


@contextmanager
def _only_run() -> Iterator[None]:
    with (STATE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failed(f"another run is changing this machine ({STATE / 'lock'} is held); wait for its end") from error
        yield


def _pending(path: Path) -> tuple[str, list[tuple[int, str, Undo]]] | None:
    """Read (boot id, pending undo operations, latest first) from a journal; None if nothing is
    pending.

    A last line that a crash has truncated belongs to a step that was not performed.
    """
    boot, steps = "", {}
    for line in path.read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            entry = json.loads(line)
            boot = entry.get("boot", boot)
            if "step" in entry:
                steps[entry["step"]] = (entry["step"], entry["what"], from_data(entry["undo"]))
            steps.pop(entry.get("undone"), None)
    return (boot, [steps[number] for number in sorted(steps, reverse=True)]) if steps else None


def orphaned_journals() -> list[Path]:
    """Return the journals of runs that are no longer alive."""
    stale = []
    with contextlib.suppress(OSError):
        for path in sorted(STATE.glob("*.journal")):
            with path.open() as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                stale.append(path)
    return stale


def repair(say: Callable[[str], None], dry_run: bool = False) -> list[str]:
    """Undo the changes of crashed runs, latest first. Returns the failures; failed steps stay in
    the journal.
    """
    if STATE.exists():
        _require_own_state()
    return [failure for path in orphaned_journals() for failure in _undo(path, say, dry_run)]


def _undo(path: Path, say: Callable[[str], None], dry_run: bool) -> list[str]:
    boot, steps = _pending(path) or ("", [])
    if boot != _boot():
        steps = [step for step in steps if isinstance(step[2], RemoveFile | RemoveTree)]
    failed = []
    for number, _, undo in steps:
        say(str(undo))
        if dry_run:
            continue
        try:
            with undisturbed():
                undo.perform()
        except Failed as error:
            failed.append(str(error))
            continue
        # if the disk is full, a later repair repeats the step
        with contextlib.suppress(OSError), path.open("ab", buffering=0) as file:
            _append(file, {"undone": number})
    if not failed and not dry_run:
        path.unlink()
    return failed
