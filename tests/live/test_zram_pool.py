"""Compares the modeled pool of zram with the kernel's statistics, for the same pages and each
algorithm that both have.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from swaplab import _core
from swaplab.capture.compressibility import ALGORITHMS, sample
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.undo import RemoveZram
from swaplab.worlds.procfs import read

CONTROL = Path("/sys/class/zram-control/hot_add")
PAGES = 4000


@pytest.fixture
def zram() -> Iterator[Path]:
    """A zram device for the test, which is removed afterwards in any case."""
    if not CONTROL.exists():
        pytest.skip("this kernel has no zram")
    number = next(number for number in range(1000) if not os.path.exists(f"/sys/block/zram{number}"))
    with Machine().opened() as machine, machine.step("add a zram device", lambda: read(str(CONTROL)), RemoveZram(number)):
        yield Path(f"/sys/block/zram{number}")


def stored(device: Path, algorithm: str, pages: list[bytes]) -> dict[str, int]:
    """Write pages to the device, and return its `mm_stat`."""
    (device / "comp_algorithm").write_text(algorithm)
    (device / "disksize").write_text(str(len(pages) * mmap.PAGESIZE))
    buffer = mmap.mmap(-1, mmap.PAGESIZE)
    descriptor = os.open(f"/dev/{device.name}", os.O_WRONLY | os.O_DIRECT)
    try:
        for number, page in enumerate(pages):
            buffer[:] = page
            os.pwrite(descriptor, buffer, number * mmap.PAGESIZE)
    finally:
        os.close(descriptor)
    fields = (device / "mm_stat").read_text().split()
    names = ("orig", "compressed", "used", "limit", "used_max", "same", "compacted", "huge")
    return dict(zip(names, (int(field) for field in fields), strict=False))


@pytest.fixture(scope="module")
def pages() -> list[bytes]:
    """Anonymous pages of a program with text, numbers and pointers in its memory."""
    code = "x = [str(i) * (i % 9 + 1) for i in range(60000)]; y = list(range(50000)); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        sampled = list(sample([program.pid], PAGES, seed=1))
        program.kill()
    return sampled + [bytes(4096), b"\x07" * 4096] * 20 + [os.urandom(4096) for _ in range(40)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_modeled_pool_is_the_kernels(zram: Path, pages: list[bytes], algorithm: str) -> None:
    if algorithm not in (zram / "comp_algorithm").read_text().replace("[", "").replace("]", "").split():
        pytest.skip(f"this kernel's zram has no {algorithm}")
    kernel = stored(zram, algorithm, pages)
    sizes = _core.compressed_sizes(b"".join(pages))
    others = [by_algorithm[ALGORITHMS.index(algorithm)] for by_algorithm in sizes if by_algorithm is not None]
    modeled = _core.pool_bytes(others)
    print(f"{algorithm}: kernel {kernel['used']:,} bytes, modeled {modeled:,}, compressed {kernel['compressed']:,} and {sum(others):,}")
    assert kernel["same"] == len(sizes) - len(others)
    assert modeled == pytest.approx(kernel["used"], rel=0.05)
