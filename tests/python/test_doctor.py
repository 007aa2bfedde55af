"""`swaplab doctor`, and the journal that undoes a run's changes, tested with plain files."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from swaplab.core.errors import NotSupported
from swaplab.worlds import capabilities
from swaplab.worlds.kernel import journal
from swaplab.worlds.kernel.undo import RemoveFile, RemoveTree, WriteBack, from_data, to_data
from swaplab.worlds.vm import probes, tools

SWAPLAB = [sys.executable, "-c", "from swaplab.cli import main; main()"]


def test_doctor_names_each_capability_with_its_reason():
    done = subprocess.run([*SWAPLAB, "doctor", "--json"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    rows = {row["name"]: row for row in document["capabilities"]}
    assert len(rows) == len(document["capabilities"])
    assert set(rows["zram"]) == {"name", "available", "needed_for", "why"}
    assert "kernel: zram" in rows["zram"]["needed_for"]
    assert all(row["why"] for row in rows.values())
    assert {name for name in rows if name.startswith("vm-")} == {name for name, *_ in probes.PROBES}
    assert not rows["root"]["available"] or os.geteuid() == 0


def test_require_names_what_is_missing(monkeypatch):
    probes = (("here", (), lambda: (True, "yes")), ("gone", (), lambda: (False, "nobody built it")))
    monkeypatch.setattr(capabilities, "PROBES", probes)
    capabilities.require(["here"], "this")
    with pytest.raises(NotSupported, match=r"this needs gone \(nobody built it\)"):
        capabilities.require(["here", "gone"], "this")


def test_missing_parts_of_a_guest_are_named_with_whether_they_can_be_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("SWAPLAB_KERNEL_PARTS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "SYSTEM_PATH", ())
    lacking = {one.name: one.why for one in capabilities.capabilities(probes.PROBES) if not one.available}
    assert set(lacking) >= {"vm-qemu", "vm-mke2fs", "vm-compiler", "vm-driver-source", "vm-kernel"}
    assert lacking["vm-qemu"] == (
        "not on the path: qemu-system-aarch64 (package qemu-system-arm); there is no apt-get and no apt-cache and no dpkg-deb to fetch it"
    )
    assert lacking["vm-kernel"].startswith("debian-6.12 is not in the cache") and "block_devices" in lacking["vm-driver-source"]


def test_an_undo_operation_survives_the_journal():
    for undo in (WriteBack("/proc/x", "60"), RemoveFile("/a"), RemoveTree("/var/tmp/swaplab-1")):
        assert from_data(json.loads(json.dumps(to_data(undo)))) == undo


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "STATE", tmp_path / "state")
    return tmp_path / "state"


def test_a_step_is_undone_in_reverse_also_on_an_error(state, tmp_path):
    knob = tmp_path / "knob"
    knob.write_text("60")
    machine = journal.Machine()
    low, lower = WriteBack(str(knob), "60"), WriteBack(str(knob), "10")
    with (
        pytest.raises(RuntimeError),
        machine.opened(),
        machine.step("10", lambda: knob.write_text("10"), low),
        machine.step("20", lambda: knob.write_text("20"), lower),
    ):
        assert knob.read_text() == "20"
        raise RuntimeError
    assert knob.read_text() == "60"
    assert journal.orphaned_journals() == []


def test_a_dry_run_prints_every_change_and_makes_none(state, tmp_path):
    said: list[str] = []
    machine = journal.Machine(dry_run=True, say=said.append)
    with machine.opened(), machine.step("touch made", (tmp_path / "made").touch, RemoveFile("made")):
        pass
    assert said == ["touch made", "rm -f made"]
    assert not (tmp_path / "made").exists() and not state.exists()


CRASH = """
import os, signal, sys
from pathlib import Path
from swaplab.worlds.kernel import journal
from swaplab.worlds.kernel.undo import RemoveFile, WriteBack
journal.STATE = Path(sys.argv[1]) / "state"
knob, made = Path(sys.argv[1]) / "knob", Path(sys.argv[1]) / "made"
machine = journal.Machine()
with machine.opened():
    with machine.step("set", lambda: knob.write_text("10"), WriteBack(str(knob), "60")):
        with machine.step("make", made.touch, RemoveFile(str(made))):
            os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_repair_undoes_the_changes_of_a_crashed_run(state, tmp_path: Path, number):
    knob = tmp_path / "knob"
    knob.write_text("60")
    subprocess.run([sys.executable, "-c", CRASH, str(tmp_path), str(int(number))], capture_output=True, timeout=60, check=False)
    killed = number == signal.SIGKILL
    assert (tmp_path / "made").exists() == killed and (knob.read_text() == "10") == killed
    undone: list[str] = []
    assert journal.repair(undone.append, dry_run=True) == [] and len(undone) == (2 if killed else 0)
    assert (tmp_path / "made").exists() == killed
    assert journal.repair(lambda line: None) == []
    assert not (tmp_path / "made").exists() and knob.read_text() == "60"
    assert journal.orphaned_journals() == []
