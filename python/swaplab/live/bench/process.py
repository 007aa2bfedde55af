"""An app as a process: started as an unprivileged user inside a control group of its own, spoken to, killed with all its children."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from swaplab import BadInput
from swaplab.live.bench.channel import Channel, Silent
from swaplab.live.bench.spec import App
from swaplab.live.capabilities import read
from swaplab.live.knobs.cgroup import Group
from swaplab.live.pager import check_program
from swaplab.live.undo import write

PR_SET_NO_NEW_PRIVS, PR_SET_THP_DISABLE = 38, 41
#: Importance by Android's names, read by the kernel's killer too.
FOREGROUND, PREVIOUS, CACHED = 0, 700, 900


@dataclass(frozen=True)
class User:
    """Whom the apps run as."""

    name: str
    uid: int
    gid: int

    @classmethod
    def named(cls, name: str, as_root: bool) -> User:
        """The user of that name; root only when asked for."""
        try:
            entry = pwd.getpwnam(name)
        except KeyError as error:
            raise BadInput(f"--user: '{name}'; expected a user of this machine") from error
        if entry.pw_uid == 0 and not as_root:
            raise BadInput("--user: 'root'; expected another user, or --as-root to let an experiment's commands run as root")
        return cls(name, entry.pw_uid, entry.pw_gid)


def default_user() -> str:
    """Who called sudo, else nobody."""
    return os.environ.get("SUDO_USER") or "nobody"


@dataclass
class Process:
    """One app of an experiment, alive or not."""

    app: App
    user: User
    directory: Path
    log: Path
    group: Group
    tick: Callable[[], None]
    pause_s: float
    #: What its environment has besides the usual.
    besides: dict[str, str] = field(default_factory=dict)
    #: Groups that it joins besides `group`, each by the file that takes its number.
    groups: tuple[Path, ...] = ()
    last_used: int = 0
    #: How its last process ended: the code, or minus the signal.
    exit_code: int | None = None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _channel: Channel | None = field(default=None, repr=False)

    def prepare(self) -> None:
        """The app's own directory with its files, given to its user at the end."""
        if "LD_PRELOAD" in self.besides:
            check_program(Path(self.command()[0]))
        self.directory.mkdir(mode=0o700)
        for name, text in self.app.files.items():
            if "/" in name or name in (".", ".."):
                raise BadInput(f"app {self.app.name}: files: '{name}'; expected a plain file name")
            (self.directory / name).write_text(self.app.fill(text, self._variables()))
            os.chown(self.directory / name, self.user.uid, self.user.gid)
        os.chown(self.directory, self.user.uid, self.user.gid)

    def _variables(self) -> dict[str, str]:
        return {"dir": str(self.directory), "name": self.app.name}

    def command(self) -> list[str]:
        """The command line with every value set and the program's full path."""
        words = [self.app.fill(word, self._variables()) for word in self.app.command]
        path = find_program(words[0])
        if path is None:
            raise BadInput(f"app {self.app.name}: command: '{words[0]}'; expected a program on the path that user {self.user.name} may run")
        return [path, *words[1:]]

    @property
    def alive(self) -> bool:
        """Whether its first process runs."""
        return self._process is not None and self._process.poll() is None

    def launch(self) -> float:
        """Start it cold; the seconds from the spawn to its ready test."""
        command, app = self.command(), self.app
        (self.directory / "socket").unlink(missing_ok=True)
        down, up = os.pipe(), os.pipe()  # to the app, from the app
        prctl = ctypes.CDLL(None).prctl
        keep = (3, 4) if app.channel == "pipe" else ()

        def become() -> None:
            self.group.enter()
            for joined in self.groups:
                write(joined, str(os.getpid()))
            prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
            if keep:
                first, second = os.dup(down[0]), os.dup(up[1])  # out of the way of 3 and 4
                os.dup2(first, 3)
                os.dup2(second, 4)
            os.setgroups([])
            os.setresgid(self.user.gid, self.user.gid, self.user.gid)
            os.setresuid(self.user.uid, self.user.uid, self.user.uid)
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)

        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.directory),
        } | self.besides
        stdio = app.channel == "stdio"
        with self.log.open("ab") as log:
            began = time.perf_counter()
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=down[0] if stdio else subprocess.DEVNULL,
                    stdout=up[1] if stdio else log,
                    stderr=log,
                    cwd=self.directory,
                    env=environment,
                    start_new_session=True,
                    close_fds=not keep,
                    preexec_fn=become,
                )
            except OSError as error:
                wanted = f"expected a program that user {self.user.name} may run"
                raise BadInput(f"app {app.name}: command: {command[0]}: {error.strerror}; {wanted}") from error
        for descriptor in (down[0], up[1]):
            os.close(descriptor)
        for descriptor in (down[1], up[0]):
            os.set_blocking(descriptor, False)
        pair = None if app.channel == "unix" else (up[0], down[1])
        if pair is None:
            os.close(up[0])
            os.close(down[1])
        self._channel = Channel(app, self._variables(), lambda: self.alive, self.tick, self.pause_s, pair)
        self._channel.run(app.ready, app.ready_seconds)
        return time.perf_counter() - began

    def request(self) -> tuple[float, int]:
        """Bring it back: (seconds from the request to its answer, pages found wrong)."""
        began = time.perf_counter()
        bad = self._talk().run(self.app.request, self.app.request_seconds)
        return time.perf_counter() - began, bad

    def work(self) -> int:
        """Use it in the foreground; pages found wrong."""
        return self._talk().run(self.app.work, self.app.request_seconds)

    def check(self) -> int:
        """Its own check of everything it holds; pages found wrong."""
        return self._talk().run(self.app.check, self.app.request_seconds)

    def _talk(self) -> Channel:
        if self._channel is None:
            raise Silent("it isn't running")
        return self._channel

    def importance(self, score: int) -> None:
        """Tell the kernel's killer how dear the app is."""
        for process in self.group.processes():
            try:
                Path(f"/proc/{process}/oom_score_adj").write_text(str(score))
            except OSError:
                continue  # it just ended

    def kill(self) -> None:
        """SIGKILL to all of it, and wait until it is gone."""
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
                raise Silent(f"processes {processes} survive SIGKILL")
            time.sleep(0.001)
        self.forget()

    def forget(self) -> None:
        """Close what is left of a process that has ended."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self.exit_code = self._process.wait(20)
        self._process, self._channel = None, None

    def last_words(self) -> str:
        """Of an app that failed: where a copy of its log stays when the run is gone, and the log's end on one line."""
        text = read(self.log)
        with tempfile.NamedTemporaryFile("w", prefix=f"swaplab-{self.app.name}-", suffix=".log", delete=False) as kept:
            kept.write(text)
        return f"log {kept.name}: {' '.join(text[-300:].split())}"


def find_program(name: str) -> str | None:
    """A program's full path: on the path of an unprivileged user, else ours beside the command `swaplab`."""
    return shutil.which(name) if "/" in name else shutil.which(name, path=f"/usr/local/bin:/usr/bin:/bin:{Path(sys.executable).parent}")
