"""Tests that a run's changes to the machine are undone: after its normal end, an exception, Ctrl-C,
and kill -9 with `doctor --repair`.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from machine_state import machine_state
from swaplab.core.errors import NotSupported
from swaplab.worlds.capabilities import require
from swaplab.worlds.kernel import journal
from swaplab.worlds.kernel.schemes import SCHEMES

SWAPLAB = [sys.executable, "-c", "from swaplab.cli import main; main()"]


@pytest.fixture(scope="module")
def hit():
    """A function that runs an experiment and interrupts it; returns (exit status, message)."""
    command = [sys.executable, str(Path(__file__).parent / "interrupted_run.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as runs:

        def interrupted_run(scheme: str, moment: str, blow: str) -> tuple[int, str]:
            try:
                require(SCHEMES[scheme].needs, scheme)
            except NotSupported as error:
                pytest.skip(str(error))
            print(scheme, moment, blow, file=runs.stdin, flush=True)
            status, _, message = runs.stdout.readline().rstrip("\n").partition(" ")
            return int(status), message

        yield interrupted_run
        runs.stdin.close()


def doctor(*options: str) -> dict:
    done = subprocess.run([*SWAPLAB, "doctor", "--json", *options], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def before():
    assert journal.repair(lambda line: None) == []
    yield machine_state()
    journal.repair(lambda line: None)  # Also after a failed test.


@pytest.mark.parametrize("scheme", SCHEMES)
def test_after_a_normal_end_changes_are_undone_and_no_page_is_bad(before, hit, scheme):
    status, message = hit(scheme, "never", "exception")
    assert machine_state() == before
    # Detected by a measurement, after some steps, which were undone.
    if message.startswith("NotSupported: "):
        pytest.skip(message.removeprefix("NotSupported: "))
    assert status == 0 and message.startswith("bad=0 checked="), message
    assert not message.startswith("bad=0 checked=0")


def steps_of(hit, scheme: str) -> list[str]:
    steps = hit(scheme, "never", "exception")[1].split()[2:]
    assert steps
    return steps


@pytest.mark.parametrize("scheme", ["ramdisk", "zswap", "zram", pytest.param("nvm-cache", marks=pytest.mark.long)])
def test_after_an_exception_in_any_step_changes_are_undone(before, hit, scheme):
    steps = steps_of(hit, scheme)
    for moment in [*steps, *(step.replace("step", "leave") for step in steps[:: len(steps) - 1])]:
        assert hit(scheme, moment, "exception") == (0, "struck Blow"), moment
        assert machine_state() == before, moment


@pytest.mark.parametrize(("scheme", "moment"), [("zram", "launch"), ("flash", "request"), ("zram", "work"), ("ramdisk", "check")])
@pytest.mark.parametrize("blow", ["exception", str(int(signal.SIGINT)), str(int(signal.SIGTERM))])
def test_after_an_interruption_in_any_phase_changes_are_undone(before, hit, scheme, moment, blow):
    assert hit(scheme, moment, blow) == (0, "struck Blow" if blow == "exception" else "struck KeyboardInterrupt")
    assert machine_state() == before


@pytest.mark.parametrize("moment", ["fork", "join"])
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_an_app_is_started_is_not_lost(before, hit, moment, blow):
    """Python ignores exceptions in its fork handlers, and an app that has not joined its control
    group cannot be found by the group.
    """
    assert hit("zram", moment, str(int(blow))) == (0, "struck KeyboardInterrupt")
    assert machine_state() == before


def test_kill_9_in_any_step_is_repaired(before, hit):
    for step in steps_of(hit, "ramdisk"):
        assert hit("ramdisk", step, str(int(signal.SIGKILL))) == (-signal.SIGKILL, "")
        crashed, lines = machine_state(), []
        assert journal.repair(lines.append, dry_run=True) == [] and lines and machine_state() == crashed, step
        assert journal.repair(lines.append) == [] and journal.orphaned_journals() == [], step
        assert machine_state() == before, step


@pytest.mark.parametrize("scheme", ["flash", "ramdisk", "zram", "zswap", "nvm-direct"])
def test_kill_9_with_apps_swapped_out_is_repaired(before, hit, scheme):
    assert hit(scheme, "check", str(int(signal.SIGKILL))) == (-signal.SIGKILL, "")
    crashed = machine_state()
    # `swaplab-app` ends when its run has ended; the app `deaf` does not notice and remains, so swap
    # remains in use.
    assert crashed["apps"] != before["apps"]
    assert crashed["mounts" if scheme == "nvm-direct" else "swaps"] != before["mounts" if scheme == "nvm-direct" else "swaps"]
    assert doctor("--repair")["failed"] == []
    assert machine_state() == before
