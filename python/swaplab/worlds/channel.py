"""Communication with an app: send a text, wait for a pattern. While waiting, it calls the
low-memory killer in the same thread.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from swaplab.worlds.apps import App, Step


class NoAnswer(Exception):
    """The app did not answer as expected in time; the message says how it failed."""


class AppEnded(NoAnswer):
    """The app's process ended."""


@dataclass
class Channel:
    """A connection to an app. `tick` is called every `pause_s` while waiting; `alive` says whether
    the process still runs.
    """

    app: App
    variables: dict[str, str]
    alive: Callable[[], bool]
    tick: Callable[[], None]
    pause_s: float
    #: (descriptor to read, descriptor to write); None for a socket that is not connected yet.
    pair: tuple[int, int] | None
    buffer: bytes = b""
    _socket: socket.socket | None = field(default=None, repr=False)

    def close(self) -> None:
        """Close this side of the channel."""
        for descriptor in set(self.pair or ()):
            with contextlib.suppress(OSError):
                if self._socket is None:
                    os.close(descriptor)
        if self._socket is not None:
            self._socket.close()
        self.pair, self._socket = None, None

    def run(self, steps: list[Step], seconds: float) -> int:
        """Perform the steps in order within `seconds`. Returns the sum of the numbers that the
        patterns' groups `bad` matched.
        """
        deadline, bad = time.monotonic() + seconds, 0
        for step in steps:
            self._connect(deadline)
            if step.send:
                text = self.app.fill(step.send, self.variables)
                self._write(text.encode() + (b"\0" if self.app.channel == "pipe" else b""), deadline)
            if step.expect:
                values = self._expect(self.app.fill(step.expect, self.variables), deadline)
                bad += int(values.pop("bad", "0"))
                self.variables.update(values)
        return bad

    def _connect(self, deadline: float) -> None:
        while self.pair is None:
            self._wait(deadline, "it never opened its socket", 0.002)
            candidate = socket.socket(socket.AF_UNIX)
            try:
                candidate.connect(str(Path(self.variables["dir"]) / "socket"))
            except OSError:
                candidate.close()
                continue
            candidate.setblocking(False)
            self._socket, self.pair = candidate, (candidate.fileno(), candidate.fileno())

    def _wait(self, deadline: float, failure: str, pause: float) -> None:
        """Call the killer, check that the app is alive, and wait until there is input, at most
        `pause` seconds.
        """
        self.tick()
        if not self.alive():
            raise AppEnded("its process ended")
        if time.monotonic() > deadline:
            raise NoAnswer(failure)
        if self.pair is None:
            time.sleep(pause)
        else:
            select.select([self.pair[0]], [], [], pause)

    def _write(self, data: bytes, deadline: float) -> None:
        assert self.pair is not None
        while data:
            try:
                data = data[os.write(self.pair[1], data) :]
            except BlockingIOError:
                select.select([], [self.pair[1]], [], self.pause_s)
                self._wait(deadline, "it stopped reading its input", 0)
            except OSError as error:
                raise AppEnded(f"its input is closed ({error.strerror})") from error

    def _expect(self, pattern: str, deadline: float) -> dict[str, str]:
        assert self.pair is not None
        compiled = re.compile(pattern.encode(), re.MULTILINE)
        while not (matched := compiled.search(self.buffer)):
            try:
                read = os.read(self.pair[0], 1 << 16)
                if not read:
                    raise AppEnded("it closed its output")
                self.buffer += read
                continue
            except BlockingIOError:
                pass
            except OSError as error:
                raise AppEnded(f"its output is closed ({error.strerror})") from error
            self._wait(
                deadline, f"it never wrote '{pattern}'; its output ends with {self.buffer[-120:].decode(errors='replace')!r}", self.pause_s
            )
        self.buffer = self.buffer[matched.end() :]
        return {key: value.decode(errors="replace") for key, value in matched.groupdict().items() if value is not None}
