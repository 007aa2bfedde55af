"""Fixtures of tests with a guest: the parts of a guest, and a small experiment whose apps do not
fit into memory.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from swaplab import NotSupported
from swaplab.worlds.vm import driver, guest, kernels, tools

#: Three apps that together with the kernel do not fit into a small guest.
EXPERIMENT = """
machine = { dram = "192MiB" }
design = [{ swap = "zram:size=96MiB", killer = "lmkd" }]
run = { on = ["vm"], seeds = 1, vm = { kernel = "debian-6.12", think = "1ms", events = [
  "vmscan/mm_vmscan_direct_reclaim_begin", "vmscan/mm_vmscan_direct_reclaim_end",
  "vmscan/mm_vmscan_kswapd_wake", "vmscan/mm_vmscan_kswapd_sleep",
] } }
[workload]
apps = [{ use = "phone-app", name = "app", count = 3, footprint = "44MiB" }]
launches = { rounds = 1, warm_up = 1, foreground = "1ms" }
"""


@pytest.fixture(scope="session")
def guest_parts() -> None:
    """Skip, with the reason, if no guest can be run."""
    if not (Path(guest.__file__).parents[2] / "_native" / "swaplab-guest").is_file():
        pytest.skip("the guest's program is not built: Rust's target aarch64-unknown-linux-musl is missing")
    # The host's packages are not fetched for a test: QEMU and a compiler have hundreds of
    # megabytes.
    if absent := tools.missing_programs(tools.QEMU, tools.MKE2FS, *tools.MODULE):
        pytest.skip(f"no {', '.join(program.command for program in absent)} on this machine")
    if not kernels.is_downloaded("debian-6.12") and shutil.which("apt-get") is None:
        pytest.skip("no kernel debian-6.12 in the cache, and no apt-get to fetch it")
    try:
        driver.module(kernels.resolve("debian-6.12"))
    except NotSupported as error:
        pytest.skip(str(error))


@pytest.fixture
def file(tmp_path: Path, guest_parts: None) -> Path:
    """The file of the small experiment."""
    path = tmp_path / "x.toml"
    path.write_text(EXPERIMENT)
    return path
