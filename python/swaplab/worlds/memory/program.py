"""An app of an experiment under the pager: started as this user, spoken to, ended with all its children."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from swaplab.core.errors import BadInput
from swaplab.core.signals import undisturbed
from swaplab.worlds import spawn
from swaplab.worlds.apps import App, Step
from swaplab.worlds.channel import Channel, Gone, Silent

#: Seconds between two looks at a program that is being waited for.
PAUSE_S = 0.002


@dataclass
class Program:
    """One app, alive or not."""

    app: App
    directory: Path
    environment: dict[str, str]
    exit_code: int | None = None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _channel: Channel | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        """What it says besides its channel."""
        return self.directory.with_suffix(".log")

    def prepare(self) -> None:
        """Its own directory with its files."""
        self.directory.mkdir(mode=0o700)
        spawn.write_files(self.app, self.directory)

    @property
    def alive(self) -> bool:
        """Whether its first process runs."""
        return self._process is not None and self._process.poll() is None

    def launch(self) -> float:
        """Start it; the seconds from the spawn to its ready test."""
        command = spawn.command_of(self.app, self.directory, "this user")
        with undisturbed():
            started = spawn.start(self.app, command, self.directory, self.log, self.environment, lambda: None)
            self._process = started.process
        names = spawn.variables(self.app, self.directory)
        self._channel = Channel(self.app, names, lambda: self.alive, lambda: None, PAUSE_S, started.pair)
        self._talk("ready", self.app.ready, self.app.ready_seconds)
        return time.perf_counter() - started.began

    def request(self) -> tuple[float, int]:
        """Bring it back: (seconds from the request to its answer, pages found wrong)."""
        began = time.perf_counter()
        bad = self._talk("request", self.app.request, self.app.request_seconds)
        return time.perf_counter() - began, bad

    def work(self) -> int:
        """Use it; pages found wrong."""
        return self._talk("work", self.app.work, self.app.request_seconds)

    def check(self) -> int:
        """Its own check of everything it holds; pages found wrong."""
        return self._talk("check", self.app.check, self.app.request_seconds)

    def _talk(self, action: str, steps: list[Step], seconds: float) -> int:
        assert self._channel is not None, "it was launched"
        try:
            return self._channel.run(steps, seconds)
        except Gone as error:
            self.end()
            code = f"exit code {self.exit_code}"
            words = spawn.last_words(self.app, self.log)
            raise BadInput(f"app {self.app.name}: {action}: {error} ({code}); expected a command that stays up; {words}") from error
        except Silent as error:
            wanted = f"expected it within {seconds:g} s"
            raise BadInput(f"app {self.app.name}: {action}: {error}; {wanted}; {spawn.last_words(self.app, self.log)}") from error

    def run_to_end(self, tick: Callable[[], None] = lambda: None) -> tuple[float, int]:
        """Start a bare command and wait for its end: (seconds, exit code). What it prints goes to its log."""
        command = spawn.command_of(self.app, self.directory, "this user")
        with self.log.open("ab") as log:
            began = time.perf_counter()
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | self.environment, start_new_session=True
            )
        while self.alive:
            tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.05)
        self.exit_code = self._process.returncode
        return time.perf_counter() - began, self.exit_code

    def end(self) -> None:
        """SIGKILL to its session, and collect it."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self.exit_code = self._process.wait(20)
        self._process, self._channel = None, None
