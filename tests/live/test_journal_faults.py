"""Tests measurements in which a file system call of the journal fails, or that are killed at one.

All changes are undone (after SIGKILL by a repair), and the next run works. `make faults` tests
every call, `make test` a few.
"""

import json
import os
import sys
from pathlib import Path

import pytest
from machine_state import machine_state

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

import faults
from swaplab.worlds.kernel import journal

ALL = "SWAPLAB_FAULTS" in os.environ
FEW = 3
EXPERIMENT = """
machine = { dram = "20MiB" }
design = [{ swap = "zram:size=16MiB" }]
run = { on = ["kernel"], seeds = 1, kernel = { calibrate = false } }
workload.launches = { rounds = 1, foreground = "0" }
workload.apps = [{ use = "swaplab-app", name = "one", footprint = "12MiB", seed = 1, work = 100 }]
"""


@pytest.mark.timeout(3600)
def test_after_a_fault_in_the_journal_all_changes_are_undone(tmp_path, monkeypatch):
    state = tmp_path / "state"
    monkeypatch.setenv("SWAPLAB_STATE", str(state))
    monkeypatch.setattr(journal, "STATE", state)
    experiment = tmp_path / "tiny.toml"
    experiment.write_text(EXPERIMENT)
    words = ["run", str(experiment), "--json"]
    before = machine_state()
    counted = faults.run(state, words, cwd=tmp_path)
    if counted.done.code == 3:
        pytest.skip(counted.done.err)
    assert counted.done.code == 0 and machine_state() == before, counted.done.err
    possible = faults.faults_of(counted.calls)
    chosen = possible if ALL else [possible[at * (len(possible) - 1) // (FEW + 1)] for at in range(1, FEW + 1)]
    wrong = []
    for fault in chosen:
        hit = faults.run(state, words, fault, cwd=tmp_path)
        if violation := faults.violation(hit, fault):
            wrong.append(f"{fault}: {violation}")
        if fault.kills:
            failures = journal.repair(lambda line: None)
            if failures or journal.orphaned_journals():
                wrong.append(f"{fault}: not repaired: {failures}")
        if (after := machine_state()) != before:
            wrong.append(f"{fault}: {[key for key in before if after[key] != before[key]]} differ")
        journal.repair(lambda line: None)
    assert wrong == []
    assert json.loads(faults.run(state, words, cwd=tmp_path).done.out)["rows"][0]["kernel"]["bad_pages"] == 0
