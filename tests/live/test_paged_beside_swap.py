"""Programs under the pager on a machine whose kernel swaps their memory, too."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from swaplab import NotSupported
from swaplab._core import pager_check
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs.swap import zram_swap

SOURCE = Path(__file__).parents[1] / "python" / "paged" / "beside_swap.c"
SWAPLAB = Path(sys.executable).parent / "swaplab"
PROCESS_MADVISE, MADV_PAGEOUT = 440, 21


class Range(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = (("start", ctypes.c_void_p), ("length", ctypes.c_size_t))


def page_out(process: int) -> None:
    """Let the kernel swap out a process's anonymous memory, as it would if others needed it."""
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    anonymous = [line.split()[0].split("-") for line in lines if line.split()[1].startswith("rw-p") and line.split()[4] == "0"]
    of = os.pidfd_open(process)
    for start, end in anonymous:
        area = Range(int(start, 16), int(end, 16) - int(start, 16))
        ctypes.CDLL(None).syscall(PROCESS_MADVISE, of, ctypes.byref(area), 1, MADV_PAGEOUT, 0)
    os.close(of)


@pytest.mark.parametrize("scheme", ["nvm-direct", "nvm-copy"])
def test_what_the_kernel_has_swapped_out_is_not_lost(scheme: str, tmp_path: Path) -> None:
    try:
        pager_check(scheme, "refault", "")
    except NotSupported as missing:
        pytest.skip(f"no pager on this machine: {missing}")
    built, stats = tmp_path / "beside_swap", tmp_path / "stats.json"
    subprocess.run(["cc", "-O2", "-o", built, SOURCE], check=True)
    with Machine().opened() as machine, zram_swap(machine, 256 << 20):
        command = [SWAPLAB, "exec", "--dram", "8MiB", "--swap", scheme, "--stats", stats, "--", built, "24", "10"]
        program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ends = time.monotonic() + 120
        while program.poll() is None:
            if time.monotonic() > ends:
                program.terminate()
            with suppress(OSError):  # it ends meanwhile
                for child in Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split():
                    page_out(int(child))
            time.sleep(0.01)
        said, _ = program.communicate()
    assert program.returncode == 0, said
    assert int(said) > 1024, "the kernel swapped the program's memory out"
    assert json.loads(stats.read_text())["swap_outs"] > 1000, "and so did the pager"
