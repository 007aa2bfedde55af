"""A run whose system calls fail, or that is killed at one of them: a line, no traceback, and `--resume` goes on to the same bytes.

`strace` injects the fault at the nth call of a name. The file system calls by which a store commits are few, so each is hit once in the
soak test; `make test` hits one of each kind. Writes are not hit: strace counts calls by thread, and libraries' threads write to each
other. Disks without room are in test_bad_input.py.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from command import SWAPLAB, swaplab
from sweeps import SWEEP, small_experiment

#: A run of two points: its two parts, then table, report, manifest and summary are put in their places; then the parts are deleted.
RENAMES, UNLINKS = 6, 2
FEW = ["rename:signal=KILL:when=4", "rename:error=EIO:when=2", "unlink:signal=KILL:when=1", "mkdir:error=EROFS:when=2"]
ALL = [
    *(f"rename:{fault}:when={at}" for at in range(1, RENAMES + 1) for fault in ("signal=KILL", "error=EIO")),
    *(f"unlink:{fault}:when={at}" for at in range(1, UNLINKS + 1) for fault in ("signal=KILL", "error=EIO")),
    *(f"mkdir:{fault}:when={at}" for at in (1, 2) for fault in ("signal=KILL", "error=EROFS")),
    *(f"rmdir:{fault}:when=1" for fault in ("signal=KILL", "error=EBUSY")),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of an undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    prepare(folder)
    assert swaplab("run", "two.toml", "--jobs", "1", "-o", "run", cwd=folder).code == 0
    return files(folder / "run")


def prepare(folder: Path) -> None:
    small_experiment(folder)
    (folder / "two.toml").write_text(SWEEP.partition("[vary]")[0] + '[vary]\n"machine.dram" = ["20%", "40%"]\n')


def files(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here (Debian: apt-get install strace)")
@pytest.mark.parametrize("fault", ALL if "SWAPLAB_SOAK_SECONDS" in os.environ else FEW)
def test_what_was_kept_is_whole_and_resume_goes_on_to_the_same_bytes(fault: str, whole: dict[str, bytes], tmp_path: Path) -> None:
    prepare(tmp_path)
    log = tmp_path / "log"
    strace = ["strace", "-f", "-qq", "-o", log, "-e", f"trace={fault.partition(':')[0]}", "-e", f"inject={fault}"]
    run = [SWAPLAB, "run", "two.toml", "--jobs", "1", "-o", "run"]
    done = subprocess.run([*strace, *run], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    if "ptrace" in done.stderr:
        pytest.skip(done.stderr.splitlines()[0])
    killed = "KILL" in fault
    assert killed or "(INJECTED)" in log.read_text(), "the fault was never injected"
    assert done.returncode in ((-signal.SIGKILL, 128 + signal.SIGKILL) if killed else (0, 1, 2)), done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("swaplab: ")]
    assert "Traceback" not in done.stderr and len(said) <= 1 and (killed or bool(said) == (done.returncode != 0)), done.stderr
    # Whatever is there under its own name is whole: no summary without the rest, no part of another length.
    left = {name: content for name, content in files(tmp_path / "run").items() if not name.endswith(".part")}
    assert {name for name in left if not name.startswith("parts/")} <= set(whole)
    assert [name for name in whole if left.get(name, whole[name]) != whole[name]] == []
    assert "summary.json" not in left or set(whole) <= set(left)
    resumed = swaplab("run", "two.toml", "--jobs", "1", "-o", "run", "--resume", cwd=tmp_path)
    assert resumed.code == 0 and files(tmp_path / "run") == whole, resumed.err
