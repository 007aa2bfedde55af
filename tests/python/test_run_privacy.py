"""What `swaplab exec` keeps of a program's memory outside of it can be opened by nobody else."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from command import SWAPLAB

PROGRAM = "import sys; m = bytearray(b'secret--' * (1 << 21)); print('ready', flush=True); sys.stdin.read(); sum(m[::4096])"


@pytest.mark.parametrize("swap", ["nvm-direct", "flash"])
def test_the_files_behind_a_programs_memory_have_no_name_and_one_reader(swap: str, tmp_path: Path) -> None:
    """Every regular file that one of its threads holds open for writing: mode 0600 with no name, or nobody's by any path."""
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
