"""`swaplab exec` on a process and its forked children, each of which is paged with a budget and a
store of its own.
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from rss import MIB
from test_run import HERE, SWAPLAB, paged, program, pytestmark  # noqa: F401


@pytest.fixture(scope="session")
def family(tmp_path_factory) -> str:
    target = tmp_path_factory.mktemp("family") / "family"
    subprocess.run([program("gcc"), "-O1", "-o", target, HERE / "family.c"], check=True)
    return str(target)


def test_the_record_is_of_the_program_alone(tmp_path, family):
    run = paged([family, "3"], "4MiB", "--record", str(tmp_path / "r.slt"), stats=tmp_path / "s.json", timeout=300)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"right\n", b"")
    processes = json.loads((tmp_path / "s.json").read_text())["processes"]
    assert len(processes) == 5 and all(process["swap_outs"] > 1000 for process in processes)
    info = json.loads(subprocess.run([SWAPLAB, "trace", "info", tmp_path / "r.slt", "--json"], check=True, capture_output=True).stdout)
    (name,) = info["app_names"]
    assert name.startswith(f"{min(process['pid'] for process in processes)}-")


#: Schemes, seeds and numbers of processes; `make soak` tries all, `make test` the first, `make
#: long` the second.
CASES = [("nvm-direct", "3", 5), pytest.param("zram", "3", 5, marks=pytest.mark.long), ("nvm-direct", "2", 14), ("zram", "2", 14)]


@pytest.mark.parametrize(("scheme", "seed", "processes"), CASES if "SWAPLAB_SOAK_SECONDS" in os.environ else CASES[:2])
def test_forked_children_are_paged_and_keep_what_they_inherited(tmp_path, family, scheme, seed, processes):
    run = paged([family, seed], "4MiB", "--swap", scheme, stats=tmp_path / "s.json", timeout=300)
    assert (run.returncode, run.stdout) == (0, b"right\n"), (run.stdout, run.stderr)
    counters = json.loads((tmp_path / "s.json").read_text())["processes"]
    assert len(counters) == processes
    for process in counters:
        assert process["swap_outs"] > 1000 and process["copied_pages"] > 500, process
        if scheme == "nvm-direct":
            # A child is paged from its first mapping on, or from its hundredth allocation: until
            # then it may write to what it inherited. A copying store brings all back at a fork.
            assert process["dram_peak_bytes"] < 7 * MIB, process
