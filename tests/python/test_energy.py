"""`swaplab papers energy` against the worked example of the paper's equations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import Done, here

RUN = ["--length", "900s", "--swap-ins", "3298", "--direct-reads", "2232", "--swap-outs", "10000"]


def command(*arguments: object) -> Done:
    return here("papers", "energy", *arguments)


def energy(*arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = command(*arguments, "--json").document
    return document


@pytest.mark.parametrize(("swap", "dram_j", "saving"), [("128MiB", 19.047, 59.2), ("256MiB", 20.442, 62.0), ("512MiB", 23.232, 66.5)])
def test_the_papers_run(swap: str, dram_j: float, saving: float) -> None:
    document = energy("--swap-size", swap, *RUN)
    totals = {name: scheme["total_j"] for name, scheme in document["schemes"].items()}
    assert totals["dram"] == pytest.approx(dram_j, abs=0.0005)
    assert totals["nvm-direct"] == pytest.approx(7.778, abs=0.0005)
    assert totals["flash"] == pytest.approx(1.417, rel=0.001)
    assert document["saving_vs_dram_percent"]["nvm-direct"] == pytest.approx(saving, abs=0.05)
    assert document["verdict"] == "arithmetic"


def test_a_folder_has_the_report_and_the_figures(tmp_path: Path) -> None:
    done = command("--swap-size", "128MiB", *RUN, "-o", tmp_path / "out")
    assert done.code == 0 and "simulated, mode paper: arithmetic" in done.out, done.err
    assert {"report.html", "summary.json"} <= {path.name for path in (tmp_path / "out").iterdir()}


def test_the_parts_are_complete_and_add_up() -> None:
    for mode in ("paper", "physical", "literal"):
        for scheme in energy("--swap-size", "128MiB", *RUN, "--mode", mode)["schemes"].values():
            parts = [scheme[part] for part in ("background_j", "activate_j", "read_j", "write_j", "io_j")]
            assert sum(parts) == pytest.approx(scheme["total_j"], rel=1e-12)
            assert scheme["busy_s"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--swap-size", "128 parsecs", *RUN], "has the unknown unit 'parsecs'"),
        (["--swap-size", "5%", *RUN], "bytes or pages"),
        (["--swap-size", "128MiB", *RUN, "--mode", "phisical"], "'physical' (did you mean that?)"),
        (["--swap-size", "1MiB", "--length", "9s", "--swap-ins", "1", "--direct-reads", "2", "--swap-outs", "0"], "no more direct reads"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], words: str) -> None:
    command(*arguments, "--json").refuses(words)
