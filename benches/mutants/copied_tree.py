"""A copy of the tree in which mutants are made, so that the tree itself is never changed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What the Python tests need and git does not know: the extension and what programs load.
BUILT = ["python/swaplab/_core.abi3.so", "python/swaplab/_native/*"]
#: pytest's exit code where all tests passed.
PASSED = 0


def update_copy(copy: Path) -> None:
    """Make the copy equal to the tree. Files that are equal keep their times, so that cargo
    compiles only what has changed.
    """
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    wanted |= {path.relative_to(ROOT).as_posix() for pattern in BUILT for path in ROOT.glob(pattern)}
    for path in [path for path in copy.rglob("*") if not path.is_dir()]:
        if path.relative_to(copy).as_posix() not in wanted:
            path.unlink()
    for name in wanted:
        to = copy / name
        if not to.is_file() or to.read_bytes() != (ROOT / name).read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)


def run_tests(copy: Path, options: list[str], timeout: int) -> int | None:
    """Run tests of the copy, on its package, until the first failure. Returns pytest's exit code,
    or None after `timeout` seconds.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options]
    # No byte code: a mutant may have the size of its source and be written within the same second.
    path = os.pathsep.join([str(copy / "python"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    silent = subprocess.DEVNULL
    run = subprocess.Popen(command, cwd=copy, env=environment, stdin=silent, stdout=silent, stderr=silent, start_new_session=True)
    try:
        return run.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return None
