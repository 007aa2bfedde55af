"""What a run may do and says it does: apps are unprivileged, a dry run prints exactly the changes of a real one, and what needs no root
runs without it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from machine_state import machine_state
from swaplab import NotSupported
from swaplab.live.bench import process, runner, spec
from swaplab.live.bench.schemes import SCHEMES
from swaplab.live.capabilities import require
from swaplab.live.journal import Machine
from swaplab.live.knobs import swap

SWAPLAB = [sys.executable, "-c", "from swaplab.cli import main; main()"]
EXPERIMENT = """
[bench]
name = "rights"
memory = "64MiB"
swap = ["16MiB"]
schemes = ["SCHEME"]
rounds = 1
warm_up_rounds = 0
repetitions = 1
foreground_seconds = 0
page_cluster = 0
calibrate = false
apps = [{ use = "APP" }]
"""
APP = """
name = "who"
command = ["sh", "-c", "echo ready $(id -u) $(id -G) $(grep NoNewPrivs /proc/self/status | cut -f2); while read line; do echo ok; done"]
ready = [{ expect = "^ready WHO" }]
ready_seconds = 5
request = [{ send = "resume\\n", expect = "^ok" }]
"""


@pytest.fixture
def experiment(tmp_path: Path):
    """The path of an experiment of one app that says who it is."""

    def write(who: str = "", scheme: str = "none") -> str:
        (tmp_path / "app.toml").write_text(APP.replace("WHO", who))
        (tmp_path / "exp.toml").write_text(EXPERIMENT.replace("SCHEME", scheme).replace("APP", str(tmp_path / "app.toml")))
        return str(tmp_path / "exp.toml")

    return write


@pytest.mark.parametrize(("who", "options"), [("65534 65534 1", ()), ("0 0 1", ("--user", "root", "--as-root"))])
def test_apps_run_as_nobody_and_as_root_only_when_asked(experiment, who, options):
    environment = {key: value for key, value in os.environ.items() if key != "SUDO_USER"}
    done = subprocess.run(
        [*SWAPLAB, "bench", experiment(who), *options], capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr


def changes(text: list[str]) -> list[str]:
    """The lines that say changes, without what differs from run to run: processes, loop devices."""
    return [re.sub(r"/dev/loop\w+", "/dev/loopN", line) for line in text if not line.startswith("as ")]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_dry_run_says_the_changes_that_a_run_makes_and_makes_none(experiment, scheme):
    try:
        require(SCHEMES[scheme].needs, scheme)
    except NotSupported as error:
        pytest.skip(str(error))
    place, before = experiment("", scheme), machine_state()
    wanted = spec.load_experiment(place)
    said: dict[bool, list[str]] = {True: [], False: []}
    for dry in (True, False):
        user = process.User.named("nobody", False)
        try:
            runner.run(wanted, spec.load_apps(spec.table(wanted), place), user, place, dry, said[dry].append, lambda line: None)
        except NotSupported as error:
            pytest.skip(str(error))
        assert machine_state() == before
    made = changes(said[False])
    assert made and [line for line in changes(said[True]) if line in made] == made


def test_without_root_only_what_needs_it_is_refused(tmp_path: Path):
    """Exit 3 for a run; dry runs, the doctor and the simulator go on."""
    become = "import os, sys; import swaplab.live.target.registry, swaplab.live.simulated, swaplab.live.journal, swaplab.model.sim"
    imports = "import swaplab.experiment; from swaplab.cli import main, sim, bench, doctor, replay"
    code = f"{become}; {imports}; os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534); main()"
    for arguments, expected in (
        (["bench", "quick"], 3),
        (["bench", "quick", "--dry-run"], 0),
        (["doctor", "--json"], 0),
        (["sim", "against-sim"], 0),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
        )
        if "Permission denied" in done.stderr or "PermissionError" in done.stderr:
            pytest.skip("this checkout can't be read by an unprivileged user")
        assert done.returncode == expected, (arguments, done.stderr)
        assert expected == 0 or "needs root" in done.stderr


def test_a_setting_that_is_so_already_is_no_change(tmp_path: Path):
    setting, said = tmp_path / "setting", []
    for before in ("128\n", "none lzo [128]\n", "8192\n"):
        setting.write_text(before)
        with swap.setting(Machine(True, said.append), str(setting), "128"):
            pass
    assert said == [f"echo 128 > {setting}", f"echo 8192 > {setting}"]
