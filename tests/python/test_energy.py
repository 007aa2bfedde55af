"""`swaplab energy` against the worked example of the paper's equations and against an independent formula."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SWAPLAB = Path(sys.executable).with_name("swaplab")
RUN = ["--seconds", "900", "--swap-ins", "3298", "--direct-reads", "2232", "--swap-outs", "10000"]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SWAPLAB, "energy", *arguments], capture_output=True, text=True, check=False)


def energy(*arguments: str) -> dict[str, Any]:
    done = command(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize(("swap", "dram_j", "saving"), [("128MiB", 19.047, 59.2), ("256MiB", 20.442, 62.0), ("512MiB", 23.232, 66.5)])
def test_the_papers_run(swap: str, dram_j: float, saving: float) -> None:
    document = energy("--swap", swap, *RUN)
    totals = {name: scheme["total_j"] for name, scheme in document["schemes"].items()}
    assert totals["dram"] == pytest.approx(dram_j, abs=0.0005)
    assert totals["nvm-direct"] == pytest.approx(7.778, abs=0.0005)
    assert totals["flash"] == pytest.approx(1.417, rel=0.001)
    assert document["saving_vs_dram_percent"]["nvm-direct"] == pytest.approx(saving, abs=0.05)
    assert (document["schema"], document["kind"], document["verdict"]) == (1, "simulated", "arithmetic")


def test_the_parts_add_up_and_are_all_there() -> None:
    for mode in ("paper", "physical", "literal"):
        for scheme in energy("--swap", "128MiB", *RUN, "--mode", mode)["schemes"].values():
            parts = [scheme[part] for part in ("background_j", "activate_j", "read_j", "write_j", "io_j")]
            assert sum(parts) == pytest.approx(scheme["total_j"], rel=1e-12)
            assert scheme["busy_s"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--swap", "128 parsecs", *RUN], "no such unit"),
        (["--swap", "5%", *RUN], "bytes or pages"),
        (["--swap", "128MiB", *RUN, "--mode", "phisical"], "'physical' (did you mean that?)"),
        (["--swap", "128MiB", "--seconds", "900", "--swap-ins", "1", "--direct-reads", "2", "--swap-outs", "0"], "no more direct reads"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], words: str) -> None:
    done = command(*arguments, "--json")
    assert done.returncode == 2
    assert done.stdout == "" and words in done.stderr and done.stderr.count("\n") == 1
