"""The world `kernel` without root: which apps count as killed by the kernel."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from swaplab.worlds.apps import App, Step
from swaplab.worlds.channel import AppEnded
from swaplab.worlds.kernel.killer import Kill, full_avg10, stalled_us
from swaplab.worlds.kernel.process import Process, User
from swaplab.worlds.kernel.protocol import ROOM, Stage

APP = App(name="a", command=["x"], ready=[Step(expect="x")], request=[Step()])


class FakeGroup:
    """A control group with one process, that of a `Program`."""

    def __init__(self) -> None:
        self.program: subprocess.Popen[bytes] | None = None

    def processes(self) -> list[int]:
        return [self.program.pid] if self.program and self.program.poll() is None else []


class Program(Process):
    """A process that runs a shell command in place of an app."""

    def start(self, command: str) -> None:
        self._process = self.group.program = subprocess.Popen(["sh", "-c", command])


def program(tmp_path: Path, name: str = "a") -> Program:
    user = User("nobody", os.getuid(), os.getgid())
    return Program(APP.model_copy(update={"name": name}), user, tmp_path, tmp_path / "log", FakeGroup(), lambda: None, 0.0)


@pytest.mark.parametrize(
    ("command", "counts"), [("kill -KILL $$", True), ("exit 1", False), ("kill -TERM $$", False), ("exec sleep 60", False)]
)
def test_an_app_that_sigkill_ended_is_a_kill_by_the_kernel(tmp_path: Path, command: str, counts: bool):
    app = program(tmp_path)
    app.start(command)
    assert app.reap() == counts
    assert not app.alive and app.exit_code is not None
    assert not app.reap()  # an app counts once


def test_an_app_that_we_kill_is_no_kill_by_the_kernel(tmp_path: Path):
    app = program(tmp_path)
    assert not app.reap()
    app.start("exec sleep 60")
    app.kill()
    assert app.exit_code == -signal.SIGKILL and not app.reap()


class Steering:
    def apply(self) -> None:
        pass


class Killer:
    def __init__(self) -> None:
        self.kills: list[Kill] = []


class Launched(Program):
    """An app that the limit kills at its first launch, by SIGKILL."""

    launches = 0

    def launch(self) -> float:
        self.launches += 1
        self.start("kill -KILL $$" if self.launches == 1 else "exec sleep 60")
        if self.launches == 1:
            time.sleep(0.05)
            raise AppEnded("its process ended")
        return 0.5


def test_a_kill_at_the_limit_during_a_launch_counts_and_the_one_that_makes_room_does_not(tmp_path: Path):
    other, launched = program(tmp_path, "other"), program(tmp_path, "launched")
    launched.__class__ = Launched
    other.start("exec sleep 60")
    stage = Stage(None, None, None, 1 << 20, [other, launched], Killer(), Steering())
    stage.turn = launched.last_used = 2
    try:
        assert stage.launch(launched) == 0.5
        assert stage.kernel_killed == 1
        assert [(kill.app, kill.reason) for kill in stage.killer.kills] == [("other", ROOM)]
        assert launched.alive and not other.alive
    finally:
        launched.kill()


def test_stalls_are_parsed_from_one_reading() -> None:
    text = "some avg10=9.00 avg60=0.00 avg300=0.00 total=120\nfull avg10=1.25 avg60=0.00 avg300=0.00 total=45\n"
    assert (stalled_us(text), full_avg10(text)) == (120, 1.25)
    assert full_avg10("") == 0 and stalled_us("") > 0
