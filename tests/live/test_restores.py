"""Whatever happens to a run, the machine is as it was: normal end, exception, Ctrl-C, and kill -9 with `doctor --repair`."""

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
    """Run an experiment and hit it: (exit status, what it said)."""
    command = [sys.executable, str(Path(__file__).parent / "interrupted_run.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as runs:

        def one(scheme: str, moment: str, blow: str) -> tuple[int, str]:
            try:
                require(SCHEMES[scheme].needs, scheme)
            except NotSupported as error:
                pytest.skip(str(error))
            print(scheme, moment, blow, file=runs.stdin, flush=True)
            status, _, said = runs.stdout.readline().rstrip("\n").partition(" ")
            return int(status), said

        yield one
        runs.stdin.close()


def doctor(*options: str) -> dict:
    done = subprocess.run([*SWAPLAB, "doctor", "--json", *options], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def before():
    assert journal.repair(lambda line: None) == []
    yield machine_state()
    journal.repair(lambda line: None)  # also when the test failed


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_normal_end_leaves_nothing_and_finds_every_page_right(before, hit, scheme):
    status, said = hit(scheme, "never", "exception")
    assert machine_state() == before
    if "NotSupported" in said:  # found out by measuring: the steps before it were undone all the same
        pytest.skip(said)
    assert status == 0 and said.startswith("bad=0 checked="), said
    assert not said.startswith("bad=0 checked=0")


def steps_of(hit, scheme: str) -> list[str]:
    found = hit(scheme, "never", "exception")[1].split()[2:]
    assert found
    return found


@pytest.mark.parametrize("scheme", ["ramdisk", "zswap", "zram", "nvm-cache"])
def test_an_exception_in_any_step_leaves_nothing(before, hit, scheme):
    steps = steps_of(hit, scheme)
    for moment in [*steps, *(step.replace("step", "leave") for step in steps[:: len(steps) - 1])]:
        assert hit(scheme, moment, "exception") == (0, "struck Blow"), moment
        assert machine_state() == before, moment


@pytest.mark.parametrize(("scheme", "moment"), [("zram", "launch"), ("flash", "request"), ("zram", "work"), ("ramdisk", "check")])
@pytest.mark.parametrize("blow", ["exception", str(int(signal.SIGINT)), str(int(signal.SIGTERM))])
def test_a_blow_in_any_phase_leaves_nothing(before, hit, scheme, moment, blow):
    assert hit(scheme, moment, blow) == (0, "struck Blow" if blow == "exception" else "struck KeyboardInterrupt")
    assert machine_state() == before


@pytest.mark.parametrize("moment", ["fork", "join"])
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_an_app_is_started_is_not_lost(before, hit, moment, blow):
    """Python ignores an exception in what it calls around a fork; an app that is not yet in its group is not found there."""
    assert hit("zram", moment, str(int(blow))) == (0, "struck KeyboardInterrupt")
    assert machine_state() == before


def test_kill_9_in_any_step_is_repaired(before, hit):
    for step in steps_of(hit, "ramdisk"):
        assert hit("ramdisk", step, str(int(signal.SIGKILL))) == (-signal.SIGKILL, "")
        crashed, said = machine_state(), []
        assert journal.repair(said.append, dry_run=True) == [] and said and machine_state() == crashed, step
        assert journal.repair(said.append) == [] and journal.left_behind() == [], step
        assert machine_state() == before, step


@pytest.mark.parametrize("scheme", ["flash", "ramdisk", "zram", "zswap", "nvm-direct"])
def test_kill_9_with_apps_swapped_out_is_repaired(before, hit, scheme):
    assert hit(scheme, "check", str(int(signal.SIGKILL))) == (-signal.SIGKILL, "")
    crashed = machine_state()
    # `swaplab-app` ends by itself when the bench that fed it is gone; the app that does not read that end stays, and so does the swap.
    assert crashed["apps"] != before["apps"]
    assert crashed["mounts" if scheme == "nvm-direct" else "swaps"] != before["mounts" if scheme == "nvm-direct" else "swaps"]
    assert doctor("--repair")["failed"] == []
    assert machine_state() == before
