"""What tests with a guest need: everything that one is made of, and a small experiment whose apps do not fit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from swaplab import NotSupported
from swaplab.worlds.vm import driver, guest, kernels, tools

#: Three apps that do not fit into a small guest beside the kernel.
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
    """Skip, with the reason, where no guest can be run."""
    if not (Path(guest.__file__).parents[2] / "_native" / "swaplab-guest").is_file():
        pytest.skip("the guest's program is not built: Rust's target aarch64-unknown-linux-musl is missing")
    # Packages of the host are not fetched for a test: QEMU and a compiler have hundreds of megabytes.
    if absent := tools.absent(tools.QEMU, tools.MKE2FS, *tools.MODULE):
        pytest.skip(f"no {', '.join(program.command for program in absent)} on this machine")
    if not kernels.is_downloaded("debian-6.12") and shutil.which("apt-get") is None:
        pytest.skip("no kernel debian-6.12 in the cache, and no apt-get to fetch it")
    try:
        driver.module(kernels.resolve("debian-6.12"))
    except NotSupported as error:
        pytest.skip(str(error))


@pytest.fixture
def file(tmp_path: Path, guest_parts: None) -> Path:
    """The small experiment's file."""
    path = tmp_path / "x.toml"
    path.write_text(EXPERIMENT)
    return path
