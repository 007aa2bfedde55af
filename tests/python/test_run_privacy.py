"""No other user can open the files in which `swaplab exec` stores a program's memory."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from command import SWAPLAB
from rss import MIB, assert_the_budget_holds, watched
from swaplab.core.errors import NotSupported
from swaplab.worlds.memory import pager

PROGRAM = "import sys; m = bytearray(b'secret--' * (1 << 20)); print('ready', flush=True); sys.stdin.read(); sum(m[::4096])"


@pytest.mark.parametrize("swap", ["nvm-direct", pytest.param("flash", marks=pytest.mark.long)])
def test_store_files_are_unnamed_and_accessible_to_one_user(swap: str, tmp_path: Path) -> None:
    """Every regular file that a thread has open for writing is unnamed with mode 0600, or not
    reachable by any path.
    """
    where = ["--nvm", "/dev/shm"] if swap == "nvm-direct" else ["--flash", str(tmp_path)]
    call = [SWAPLAB, "exec", "--dram", "4MiB", "--swap", swap, *where, "--", "python3", "-c", PROGRAM]
    before = {path.name for path in Path("/dev/shm").iterdir()}
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdin and run.stdout and run.stderr
        if run.stdout.readline() != "ready\n":
            run.communicate()
            pytest.skip("no pager here")
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        assert len(children) == 1
        stores = []
        for link in Path(f"/proc/{children[0]}/task").glob("*/fd/*"):
            found = link.stat()
            if stat.S_ISREG(found.st_mode) and found.st_size >= 1 << 20:
                stores.append((os.readlink(link), found.st_nlink, stat.S_IMODE(found.st_mode)))
        assert list(tmp_path.iterdir()) == [] and {path.name for path in Path("/dev/shm").iterdir()} <= before
        run.communicate("")
    assert run.returncode == 0
    assert stores and all(links == 0 and mode & 0o077 == 0 for _, links, mode in stores), stores


@pytest.mark.skipif(os.getuid() != 0 or not all(map(shutil.which, ("setpriv", "perl"))), reason="needs root, setpriv and perl")
def test_a_program_that_runs_as_another_user_is_paged() -> None:
    """A program that root starts and that changes its user: root's directory of runs can be
    traversed but not listed by that user.
    """
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    fill = ["perl", "-e", "$h{$_} = 'x' x 200 for 1..60000; print scalar(keys %h), \" $<\\n\""]
    watch = watched([*user, *fill], 8 * MIB)
    assert (watch.code, watch.out) == (0, b"60000 65534\n"), watch.err
    assert b"not paged" not in watch.err, watch.err
    assert_the_budget_holds(watch, 8 * MIB)


def test_only_the_user_can_list_directories_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    run = pager.new_run()
    below = run / "user-65534"
    below.mkdir()
    (below / "not-counters").symlink_to("/etc/passwd")
    os.mkfifo(run / "pipe")
    assert stat.S_IMODE(run.stat().st_mode) == stat.S_IMODE(run.parent.stat().st_mode) == (0o711 if os.getuid() == 0 else 0o700)
    assert pager.processes(run) == [], "neither links nor pipes are read"
    run.parent.chmod(0o755)
    with pytest.raises(NotSupported, match="not a directory of yours alone"):
        pager.new_run()
