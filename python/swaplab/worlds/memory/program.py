"""An app of an experiment under the pager: started as this user, driven by requests, killed with
its session.
"""

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
from swaplab.worlds.channel import AppEnded, Channel, NoAnswer

#: Interval in seconds at which a program is polled while waiting for it.
PAUSE_S = 0.002


@dataclass
class Program:
    """An app, running or not."""

    app: App
    directory: Path
    environment: dict[str, str]
    exit_code: int | None = None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _channel: Channel | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        """The file of the app's output outside its channel."""
        return self.directory.with_suffix(".log")

    def prepare(self) -> None:
        """Create the app's directory with its files."""
        self.directory.mkdir(mode=0o700)
        spawn.write_files(self.app, self.directory)

    @property
    def alive(self) -> bool:
        """Whether its main process runs."""
        return self._process is not None and self._process.poll() is None

    def launch(self) -> float:
        """Start the app. Returns the seconds from the spawn until its ready test passes."""
        command = spawn.command_of(self.app, self.directory, "this user")
        with undisturbed():
            started = spawn.start(self.app, command, self.directory, self.log, self.environment, lambda: None)
            self._process = started.process
        names = spawn.variables(self.app, self.directory)
        self._channel = Channel(self.app, names, lambda: self.alive, lambda: None, PAUSE_S, started.pair)
        self._run_steps("ready", self.app.ready, self.app.ready_seconds)
        return time.perf_counter() - started.began

    def request(self) -> tuple[float, int]:
        """Send the resume request. Returns (seconds from the request to its answer, number of wrong
        pages).
        """
        began = time.perf_counter()
        bad = self._run_steps("request", self.app.request, self.app.request_seconds)
        return time.perf_counter() - began, bad

    def work(self) -> int:
        """Use the app. Returns the number of wrong pages."""
        return self._run_steps("work", self.app.work, self.app.request_seconds)

    def check(self) -> int:
        """Let the app check all its pages. Returns the number of wrong pages."""
        return self._run_steps("check", self.app.check, self.app.request_seconds)

    def _run_steps(self, action: str, steps: list[Step], seconds: float) -> int:
        assert self._channel is not None, "it was launched"
        try:
            return self._channel.run(steps, seconds)
        except AppEnded as error:
            self.end()
            code = f"exit code {self.exit_code}"
            words = spawn.save_log(self.app, self.log)
            raise BadInput(f"app {self.app.name}: {action}: {error} ({code}); expected a command that stays up; {words}") from error
        except NoAnswer as error:
            wanted = f"expected it within {seconds:g} s"
            raise BadInput(f"app {self.app.name}: {action}: {error}; {wanted}; {spawn.save_log(self.app, self.log)}") from error

    def run_to_end(self, tick: Callable[[], None] = lambda: None) -> tuple[float, int]:
        """Run a bare command to its end. Returns (seconds, exit code). Its output is appended to
        the log.
        """
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
        """Send SIGKILL to the app's session, and reap its main process."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self.exit_code = self._process.wait(20)
        self._process, self._channel = None, None
