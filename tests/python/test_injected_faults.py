"""Commands that write files, with a fault at each of their file system calls. An output is the old
or the new one, never a partial one; an error is one line; the next run succeeds, and a sweep with
`--resume` gives the same bytes.

The calls are counted in a first run without faults. `make faults` tests every call (minutes),
`make test` a few of some commands.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import faults
import pytest
from command import csv_trace, swaplab
from sweeps import SWEEP, small_experiment

ALL = "SWAPLAB_FAULTS" in os.environ
#: Number of tested faults by command in `make test`.
FEW, QUICK = 2, ("import", "convert to parquet", "save", "record")
OLD = b"the old output"
#: Names of files that a killed command may leave in the folder of its output.
LEFT = (".swaplab-", ".convert-", "swaplab-record-")

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")


@dataclass(frozen=True)
class Case:
    """A command and the existing file that it replaces."""

    words: list[str]
    output: str
    #: Whether two runs write the same bytes; otherwise the file is a trace.
    same: bool = True


CASES = {
    "import": Case(["trace", "import", "t.csv", "-o", "out"], "out"),
    "convert to csv": Case(["trace", "convert", "t.csv", "--to", "csv", "-o", "out"], "out"),
    "convert to parquet": Case(["trace", "convert", "t.csv", "--to", "parquet", "-o", "out"], "out"),
    "gen": Case(["trace", "gen", "small", "-o", "out"], "out"),
    "cut": Case(["trace", "slice", "t.csv", "--count", "100", "-o", "out"], "out"),
    "save": Case(["replay", "t.csv", "--memory", "50%", "--save", "out"], "out"),
    "new": Case(["new", "out"], "out"),
    "report": Case(["report", "d.json", "-o", "out"], "out"),
    "compare": Case(["compare", "a=d.json", "b=d.json", "-o", "out"], "out"),
    "capture by qemu": Case(["trace", "capture", "--method", "qemu", "-o", "out", "--", "/bin/true"], "out", same=False),
    "capture by lackey": Case(["trace", "capture", "--method", "lackey", "-o", "out", "--", "/bin/true"], "out", same=False),
    "record": Case(["exec", "--dram", "64MiB", "--record", "out", "--", "python3", "-S", "-c", "len([0] * 300000)"], "out", same=False),
    "statistics": Case(["exec", "--dram", "64MiB", "--stats", "out", "--", "python3", "-S", "-c", "len([0] * 300000)"], "out", same=False),
}


def chosen(found: list[faults.Fault], few: int = FEW) -> list[faults.Fault]:
    """Return all faults, or a few that are spread over the run."""
    return found if ALL else [found[at * (len(found) - 1) // few] for at in range(1, few + 1)]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", CASES if ALL else QUICK)
def test_an_output_is_replaced_atomically(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    csv_trace(tmp_path / "t.csv")
    if name in ("report", "compare"):
        (tmp_path / "d.json").write_text(swaplab("replay", "t.csv", "--memory", "50%", "--json", cwd=tmp_path).out)
    output = tmp_path / case.output
    if name != "new":
        output.write_bytes(OLD)
    counted = faults.run(tmp_path, list(case.words))
    if counted.done.code == 3:
        pytest.skip(counted.done.err)
    assert counted.done.code == 0, counted.done.err
    new = output.read_bytes()
    inputs = {path.name for path in tmp_path.iterdir()} - {case.output}
    is_new: Callable[[bytes], bool] = (lambda found: found == new) if case.same else (lambda found: is_complete(found, output))
    assert is_new(new) and new != OLD
    wrong = []
    for fault in chosen(faults.faults_of(counted.calls)):
        output.unlink(missing_ok=True)
        if name != "new":
            output.write_bytes(OLD)
        hit = faults.run(tmp_path, list(case.words), fault)
        found = output.read_bytes() if output.exists() else OLD
        left = {path.name for path in tmp_path.iterdir()} - {case.output, *inputs}
        allowed = (*LEFT, f".{case.output}-") if fault.kills or fault.call in ("unlink", "rmdir") else ()
        if said := faults.violation(hit, fault):
            wrong.append(f"{fault}: {said}")
        if not (found == OLD and hit.done.code != 0 or is_new(found)):
            wrong.append(f"{fault}: exit code {hit.done.code}, {found[:80]!r} in the place of the output")
        if unexpected := [one for one in left if not one.startswith(allowed)]:
            wrong.append(f"{fault}: left {unexpected}")
        for one in left:
            path = tmp_path / one
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert wrong == []
    output.unlink(missing_ok=True)
    assert swaplab(*case.words, cwd=tmp_path).code == 0 and is_new(output.read_bytes())


def is_complete(found: bytes, output: Path) -> bool:
    """Whether the bytes are a complete trace or a complete JSON document."""
    if found.startswith(b"{"):
        return found.endswith(b"}\n")
    return found != OLD and swaplab("trace", "info", output).code == 0


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_resumed_sweep_gives_the_same_bytes(jobs: int, tmp_path: Path) -> None:
    prepare(tmp_path / "counted")
    words = ["run", "two.toml", "--jobs", str(jobs), "-o", "run"]
    counted = faults.run(tmp_path / "counted", list(words))
    assert counted.done.code == 0, counted.done.err
    new = files(tmp_path / "counted" / "run")
    wrong = []
    # With two workers the same process writes, but the workers must end with it.
    of_kind = [fault for fault in faults.faults_of(counted.calls) if jobs == 1 or fault.how == faults.BEFORE]
    for number, fault in enumerate(chosen(of_kind, 4 // jobs)):
        place = tmp_path / str(number)
        prepare(place)
        hit = faults.run(place, list(words), fault)
        if said := faults.violation(hit, fault):
            wrong.append(f"{fault}: {said}")
        # Every file with its final name is complete: there is no summary without the other files,
        # and no file with different content.
        left = {name: content for name, content in files(place / "run").items() if not name.endswith(".part")}
        if not {name for name in left if not name.startswith("parts/")} <= set(new):
            wrong.append(f"{fault}: left {sorted(left)}")
        if other := [name for name in new if left.get(name, new[name]) != new[name]]:
            wrong.append(f"{fault}: other bytes in {other}")
        if "summary.json" in left and not set(new) <= set(left):
            wrong.append(f"{fault}: a summary, but only {sorted(left)}")
        resumed = swaplab(*words, "--resume", cwd=place)
        if resumed.code != 0 or files(place / "run") != new:
            wrong.append(f"{fault}: not resumed: {resumed.err}")
    assert wrong == []


def test_clock_jumps_change_no_byte(tmp_path: Path) -> None:
    """The clock jumps forth and back by a day between readings."""
    for clock in (0, 86_400):
        place = tmp_path / str(clock)
        prepare(place)
        done = faults.run(place, ["run", "two.toml", "--jobs", "2", "-o", "run"], clock=clock).done
        assert done.code == 0, done.err
    assert files(tmp_path / "0" / "run") == files(tmp_path / "86400" / "run")


def prepare(folder: Path) -> None:
    folder.mkdir()
    small_experiment(folder)
    (folder / "two.toml").write_text(SWEEP.partition("[vary]")[0] + '[vary]\n"machine.dram" = ["20%", "40%"]\n')


def files(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}
