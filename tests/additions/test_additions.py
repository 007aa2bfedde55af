"""The worked examples of CONTRIBUTING.md: each diff in this folder adds one feature.

All diffs are applied to a copy of the tree, which is built, tested with the unchanged contract
suites, and used.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.additions

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DIFFS = [HERE / f"{kind}.diff" for kind in ("device", "figure", "format", "killer", "policy", "scheme")]
#: The tree and its copy share a build folder, so that dependencies are compiled once.
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def run(*words: object, cwd: Path, fails: bool = False, **environment: object) -> str:
    """Run a command, which must succeed (with `fails`: must fail). Returns its output."""
    call = [str(word) for word in words]
    done = subprocess.run(
        call,
        cwd=cwd,
        env=os.environ | {key: str(value) for key, value in environment.items()},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout


def cargo(tree: Path, *words: object, fails: bool = False) -> str:
    return run("cargo", *words, cwd=tree, fails=fails, CARGO_TARGET_DIR=TARGET)


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    """A copy of the tree with every addition, and the extension built in it. It is removed at the
    end: Cargo would else take what was built from it for a build of this tree, even after this tree
    has changed.
    """
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    copy = TARGET / "additions"
    shutil.rmtree(copy, ignore_errors=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    for diff in DIFFS:
        # Without a ceiling, git would apply the diff to this repository, which contains the copy.
        run("git", "apply", "--whitespace=error-all", diff, cwd=copy, GIT_CEILING_DIRECTORIES=copy.parent)
    cargo(copy, "build", "--quiet", "-p", "swaplab-py")
    shutil.copy(TARGET / "debug" / "lib_core.so", copy / "python" / "swaplab" / "_core.abi3.so")
    yield copy
    shutil.rmtree(copy)


@pytest.fixture(scope="module")
def swaplab(tree: Path) -> object:
    """The command of the copy."""

    def call(*words: object) -> str:
        return run(sys.executable, "-m", "swaplab", *words, cwd=tree, PYTHONPATH=tree / "python")

    return call


def changes(diff: Path) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """Return the new files of a diff, and the numbers of lines added to and removed from each
    existing file.
    """
    new = [line.rpartition(" ")[2] for line in run("git", "apply", "--summary", diff, cwd=ROOT).splitlines()]
    counts = [line.split("\t") for line in run("git", "apply", "--numstat", diff, cwd=ROOT).splitlines()]
    return new, {name: (int(added), int(removed)) for added, removed, name in counts if name not in new}


@pytest.mark.parametrize("diff", DIFFS, ids=lambda diff: diff.stem)
def test_an_addition_is_a_file_and_at_most_two_lines(diff: Path) -> None:
    """A diff changes at most two existing files, by one line each. A figure is in the file of its
    section.
    """
    new, changed = changes(diff)
    if diff.stem == "figure":
        assert new == [] and len(changed) == 1
    else:
        assert len(new) == 1 and len(changed) <= 2 and set(changed.values()) == {(1, 0)}


def test_the_contract_suites_pass_with_the_additions(tree: Path) -> None:
    cargo(tree, "test", "--quiet", "-p", "swaplab-policy", "-p", "swaplab-swap", "--test", "contract")
    cargo(tree, "test", "--quiet", "-p", "swaplab-device", "-p", "swaplab-trace", "-p", "swaplab-apps")


def test_the_contract_suite_finds_a_policy_that_breaks_its_contract(tree: Path) -> None:
    policy = tree / "crates" / "policy" / "src" / "recency" / "clean_fifo.rs"
    sound = policy.read_text()
    # a forgotten page stays in the queue
    policy.write_text(sound.replace("self.queues.remove(page);", ""))
    try:
        output = cargo(tree, "test", "--quiet", "-p", "swaplab-policy", "--test", "contract", fails=True)
    finally:
        policy.write_text(sound)
    assert "clean-fifo" in output


def test_a_policy_a_scheme_and_a_device_replay(swaplab) -> None:
    options = ["--swap", "nvm-plain,nvm-copy", "--memory", "10%", "--json", "--set", "machine.devices.nvm=toy-nvm"]
    rows = json.loads(swaplab("replay", "djpeg", "--policy", "fifo,clean-fifo", *options))["rows"]
    by_design = {(row["policy"], row["swap"]): row for row in rows}
    assert len(by_design) == 4
    for policy in ("fifo", "clean-fifo"):
        plain, copy = by_design[policy, "nvm-plain"], by_design[policy, "nvm-copy"]
        assert plain["paging"]["swap_reads"] == copy["paging"]["swap_reads"] > 0
        assert plain["time"]["io_ns"] == copy["time"]["io_ns"] > 0
    # Dirty pages are spared, so different pages are evicted.
    assert by_design["fifo", "nvm-plain"]["paging"] != by_design["clean-fifo", "nvm-plain"]["paging"]


def test_a_format_is_detected_and_imported(swaplab, tmp_path: Path) -> None:
    (tmp_path / "pages.txt").write_text("#pages\n5\n7\n5\n")
    swaplab("trace", "import", tmp_path / "pages.txt", "-o", tmp_path / "pages.slt")
    info = json.loads(swaplab("trace", "info", tmp_path / "pages.slt", "--json"))
    assert (info["references"], info["footprint_pages"]) == (3, 2)


PHONE = """
[machine]
base = "nexus-5"
[[design]]
name = "killer"
swap = "flash:size=64MiB"
killer = ["off", "half-swap"]
[workload]
launches = "small"
apps = "assumed-2014"
[run]
on = ["phone"]
seeds = 1
"""


def test_a_killer_kills_in_the_phone(swaplab, tmp_path: Path) -> None:
    """The killer acts when swap is half full. Otherwise only the limit on cached apps ends apps."""
    (tmp_path / "phone.toml").write_text(PHONE)
    rows = json.loads(swaplab("run", tmp_path / "phone.toml", "--json"))["rows"]
    off, half = (next(row["launches"]["kills"] for row in rows if row["killer"] == killer) for killer in ("off", "half-swap"))
    assert half > off


def test_a_figure_is_in_the_report(swaplab, tmp_path: Path) -> None:
    swaplab("demo", "-o", tmp_path / "demo")
    assert "Miss ratio, as bars" in (tmp_path / "demo" / "report.html").read_text()
