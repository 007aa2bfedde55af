"""Compares the processor time of a swap-in from zram on the real kernel with the model's
(specs/x86-64.toml).
"""

from __future__ import annotations

import mmap
import random
import tomllib
from pathlib import Path
from time import thread_time_ns

import pytest
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs.swap import setting, zram_swap
from test_zram_cpu import SPEC, pytestmark, spec_machine  # noqa: F401  (only on an idle machine with that processor, in make soak)
from test_zram_pool import pages  # noqa: F401  (fixture)

COPIES, PASSES = 2, 20
PAGEOUT = 21  # MADV_PAGEOUT


def swapped_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmSwap:")[1].split()[0])


@pytest.mark.parametrize("algorithm", ["lz4", "lzo-rle"])
def test_the_modeled_time_of_a_swap_in_is_the_kernels(pages: list[bytes], algorithm: str) -> None:  # noqa: F811
    content = [page for page in pages if page != page[:8] * 512] * COPIES
    size = len(content) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    order = random.Random(1).sample(range(0, size, mmap.PAGESIZE), len(content))
    spent: list[tuple[float, float]] = []
    with (
        Machine().opened() as machine,
        setting(machine, "/proc/sys/vm/page-cluster", "0"),
        zram_swap(machine, 2 * size, algorithm, 2 * size),
    ):
        for _ in range(PASSES):
            # Write all pages again, so that each is swapped out and none is in the swap cache.
            memory[:] = b"".join(content)
            memory.madvise(PAGEOUT)
            if swapped_kib() * 1024 < 0.98 * size:
                pytest.skip("the kernel did not page the test's memory out")
            times = []
            for _ in ("swapped", "resident"):
                began = thread_time_ns()
                for at in order:
                    memory[at]
                times.append((thread_time_ns() - began) / len(content))
            spent.append((times[0], times[1]))
    constants = {name: constant for name, constant in tomllib.loads(SPEC.read_text())["cpu"].items() if name != "source"}
    cost = {name: constant["value"] if isinstance(constant, dict) else constant for name, constant in constants.items()}
    modeled = cost["fault_ns"] + cost["swap_in_ns"] + cost[f"decompress_{algorithm.replace('-', '_')}_ns"]
    # Interruptions only add time, so compare the lower quartile of each kind, as in test_zram_cpu.
    swapped, resident = (sorted(side)[PASSES // 4] for side in zip(*spent, strict=True))
    print(f"{algorithm} swap-in: measured {swapped - resident:.0f} ns a page, modeled {modeled}")
    assert modeled == pytest.approx(swapped - resident, rel=0.15)
