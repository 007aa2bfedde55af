"""Tests a run's privileges and its announced changes: apps are unprivileged, a dry run prints
exactly the changes of a real run, and what needs no root runs without it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from machine_state import machine_state
from swaplab.core import experiment as experiments
from swaplab.core.errors import NotSupported
from swaplab.worlds.capabilities import require
from swaplab.worlds.kernel import process, runner
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs import swap
from swaplab.worlds.kernel.schemes import SCHEMES
from swaplab.worlds.result import Options

RUN = [sys.executable, str(Path(__file__).parent / "kernel_run.py")]
EXPERIMENT = """
machine = { dram = "64MiB", kernel = { page_cluster = 0 } }
design = [{ swap = "SCHEME" }]
run = { on = ["kernel"], seeds = 1, kernel = { calibrate = false } }
workload = { launches = { rounds = 1, warm_up = 0, foreground = "0" }, apps = [{ use = "APP" }] }
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
    """A function that writes an experiment with one app, which prints its user and groups, and
    returns its path.
    """

    def write(who: str = "", scheme: str = "none") -> str:
        (tmp_path / "app.toml").write_text(APP.replace("WHO", who))
        (tmp_path / "exp.toml").write_text(
            EXPERIMENT.replace("SCHEME", scheme if scheme == "none" else f"{scheme}:size=16MiB").replace("APP", str(tmp_path / "app.toml"))
        )
        return str(tmp_path / "exp.toml")

    return write


@pytest.mark.parametrize(("who", "options"), [("65534 65534 1", ()), ("0 0 1", ("run.kernel.user=root", "--as-root"))])
def test_apps_run_as_nobody_and_as_root_only_with_as_root(experiment, who, options):
    environment = {key: value for key, value in os.environ.items() if key != "SUDO_USER"}
    done = subprocess.run([*RUN, experiment(who), *options], capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == 0, done.stderr


def changes(text: list[str]) -> list[str]:
    """The lines that announce changes, without parts that differ between runs: processes, loop
    devices.
    """
    return [re.sub(r"/dev/loop\w+", "/dev/loopN", line) for line in text if not line.startswith("as ")]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_dry_run_prints_the_changes_of_a_run_and_makes_none(experiment, scheme, monkeypatch):
    try:
        require(SCHEMES[scheme].needs, scheme)
    except NotSupported as error:
        pytest.skip(str(error))
    place, before = experiment("", scheme), machine_state()
    wanted = experiments.read(place)
    lines: dict[bool, list[str]] = {True: [], False: []}
    monkeypatch.setattr(runner, "Machine", lambda dry_run, say: Machine(dry_run, lines[dry_run].append))
    for dry in (True, False):
        try:
            runner.run([wanted], Options(dry_run=dry), process.User.named("nobody", False))
        except NotSupported as error:
            pytest.skip(str(error))
        assert machine_state() == before
    made = changes(lines[False])
    assert made and [line for line in changes(lines[True]) if line in made] == made


def test_without_root_only_what_needs_it_is_refused(experiment, tmp_path: Path):
    """A run exits with 3, a dry run with 0."""
    place = experiment("")
    code = (
        "import argparse, os, pkgutil, sys, runpy; import swaplab.worlds; from swaplab.core import document; "
        "import swaplab.worlds.kernel.journal; "
        "os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534); runpy.run_path(sys.argv[0], run_name='x')"
    )
    for options, expected in (((), 3), (("--dry-run",), 0)):
        program = f"import sys; sys.argv = {[RUN[1], place, *options]!r}; {code}"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
        if "Permission denied" in done.stderr or "PermissionError" in done.stderr:
            pytest.skip("this checkout can't be read by an unprivileged user")
        assert done.returncode == expected, (options, done.stderr)
        assert expected == 0 or "needs root" in done.stderr


def test_a_setting_with_the_wanted_value_is_not_changed(tmp_path: Path):
    setting, lines = tmp_path / "setting", []
    for before in ("128\n", "none lzo [128]\n", "8192\n"):
        setting.write_text(before)
        with swap.setting(Machine(True, lines.append), str(setting), "128"):
            pass
    assert lines == [f"echo 128 > {setting}", f"echo 8192 > {setting}"]
