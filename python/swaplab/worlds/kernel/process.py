"""An app as a process: started as an unprivileged user in a separate control group, controlled by
requests, killed with all its children.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from swaplab.core.errors import BadInput
from swaplab.core.signals import undisturbed
from swaplab.worlds import spawn
from swaplab.worlds.apps import App
from swaplab.worlds.channel import Channel, NoAnswer
from swaplab.worlds.kernel.knobs.cgroup import Group
from swaplab.worlds.kernel.undo import write
from swaplab.worlds.memory.pager import check_program

PR_SET_NO_NEW_PRIVS, PR_SET_THP_DISABLE = 38, 41
#: `oom_score_adj` values by Android's names; the kernel's killer uses them too.
FOREGROUND, PREVIOUS, CACHED = 0, 700, 900
#: Time in seconds within which a killed process closes its channel and then ends.
END_S = 1.0


@dataclass(frozen=True)
class User:
    """The user that the apps run as."""

    name: str
    uid: int
    gid: int

    @classmethod
    def named(cls, name: str, as_root: bool) -> User:
        """Look up a user by name. Raises BadInput if there is none, and for root unless
        `as_root`.
        """
        try:
            entry = pwd.getpwnam(name)
        except KeyError as error:
            raise BadInput(f"run.kernel.user: '{name}'; expected a user of this machine") from error
        if entry.pw_uid == 0 and not as_root:
            raise BadInput("run.kernel.user: 'root'; expected another user, or --as-root to let an experiment's commands run as root")
        return cls(name, entry.pw_uid, entry.pw_gid)


def default_user() -> str:
    """Return the name of the user that called sudo, by default nobody."""
    return os.environ.get("SUDO_USER") or "nobody"


@dataclass
class Process:
    """An app of an experiment, running or not."""

    app: App
    user: User
    directory: Path
    log: Path
    group: Group
    tick: Callable[[], None]
    pause_s: float
    #: Environment variables in addition to the usual ones.
    extra_environment: dict[str, str] = field(default_factory=dict)
    #: Groups that it joins in addition to `group`, each by its `cgroup.procs` file.
    groups: tuple[Path, ...] = ()
    last_used: int = 0
    #: Exit code of its last process, or minus the signal number.
    exit_code: int | None = None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _channel: Channel | None = field(default=None, repr=False)

    def prepare(self) -> None:
        """Create the app's directory with its files, then change their owner to the app's user."""
        if "LD_PRELOAD" in self.extra_environment:
            check_program(Path(self.command()[0]))
        self.directory.mkdir(mode=0o700)
        for path in (*spawn.write_files(self.app, self.directory), self.directory):
            os.chown(path, self.user.uid, self.user.gid)

    def command(self) -> list[str]:
        """Build the command line: every `${name}` replaced, the program as a full path."""
        return spawn.command_of(self.app, self.directory, f"user {self.user.name}")

    @property
    def alive(self) -> bool:
        """Whether its main process runs."""
        return self._process is not None and self._process.poll() is None

    def launch(self) -> float:
        """Start the app cold. Returns the seconds from the spawn until its ready test passes."""
        prctl = ctypes.CDLL(None).prctl

        def before_exec() -> None:
            self.group.enter()
            for joined in self.groups:
                write(joined, str(os.getpid()))
            prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
            os.setgroups([])
            os.setresgid(self.user.gid, self.user.gid, self.user.gid)
            os.setresuid(self.user.uid, self.user.uid, self.user.uid)
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)

        with undisturbed():
            started = spawn.start(self.app, self.command(), self.directory, self.log, self.extra_environment, before_exec)
            self._process = started.process
        names = spawn.variables(self.app, self.directory)
        self._channel = Channel(self.app, names, lambda: self.alive, self.tick, self.pause_s, started.pair)
        self._channel.run(self.app.ready, self.app.ready_seconds)
        return time.perf_counter() - started.began

    def request(self) -> tuple[float, int]:
        """Send the resume request. Returns (seconds from the request to its answer, number of wrong
        pages).
        """
        began = time.perf_counter()
        bad = self._open_channel().run(self.app.request, self.app.request_seconds)
        return time.perf_counter() - began, bad

    def work(self) -> int:
        """Use the app in the foreground. Returns the number of wrong pages."""
        return self._open_channel().run(self.app.work, self.app.request_seconds)

    def check(self) -> int:
        """Let the app check all its pages. Returns the number of wrong pages."""
        return self._open_channel().run(self.app.check, self.app.request_seconds)

    def _open_channel(self) -> Channel:
        if self._channel is None:
            raise NoAnswer("it isn't running")
        return self._channel

    def set_oom_score_adj(self, value: int) -> None:
        """Set the `oom_score_adj` of the app's processes."""
        for process in self.group.processes():
            try:
                Path(f"/proc/{process}/oom_score_adj").write_text(str(value))
            except OSError:
                continue  # the process has just ended

    def kill(self) -> None:
        """Send SIGKILL to all its processes, and wait until they have ended."""
        deadline = time.monotonic() + 20
        while processes := self.group.processes():
            for process in processes:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            if self._process is not None:
                self._process.poll()
            if time.monotonic() > deadline:
                raise NoAnswer(f"processes {processes} survive SIGKILL")
            time.sleep(0.001)
        self.forget()

    def reap(self) -> bool:
        """Clean up after an app that has ended without `kill`, and kill what is left of it. Returns
        whether SIGKILL ended its main process: nobody but the kernel sends that here.
        """
        code = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):  # only its channel is closed
                code = self._process.wait(END_S)
        self.kill()
        return code == -signal.SIGKILL

    def forget(self) -> None:
        """Clean up after a process that has ended."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self.exit_code = self._process.wait(20)
        self._process, self._channel = None, None

    def save_log(self) -> str:
        """Copy the log of a failed app. Returns the copy's path and the end of the log on one
        line.
        """
        return spawn.save_log(self.app, self.log)
