"""A stock kernel in QEMU: something is swapped, nothing is lost, and a busy host changes no byte.

Downloads a kernel (60 MB) only where SWAPLAB_TEST_DOWNLOADS is set.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from swaplab import Failed
from swaplab.worlds.vm import driver, guest, kernels, run, tools
from swaplab.worlds.vm.request import App, Design, Launches, Machine, Request, Spec, VmRun

MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def _everything_is_there() -> None:
    downloads = bool(os.environ.get("SWAPLAB_TEST_DOWNLOADS"))
    if not downloads:
        pytest.skip("guests take minutes: SWAPLAB_TEST_DOWNLOADS=1 runs them, and fetches what they need")
    if not (Path(guest.__file__).parents[2] / "_native" / "swaplab-guest").is_file():
        pytest.skip("the guest's program is not built: Rust's target aarch64-unknown-linux-musl is missing")
    if not downloads and (absent := tools.absent(tools.QEMU, tools.MKE2FS, *tools.MODULE)):
        pytest.skip(f"no {', '.join(program.command for program in absent)} on this machine (SWAPLAB_TEST_DOWNLOADS=1 fetches them)")
    if not downloads and not kernels.is_downloaded("debian-6.12"):
        pytest.skip("no kernel debian-6.12 in the cache (SWAPLAB_TEST_DOWNLOADS=1 fetches it)")
    if driver.kernel_parts() is None:
        pytest.skip("no kernel/ of swaplab's source beside the package")


def request(*swaps: str, **vm: object) -> Request:
    """Four apps that do not fit into 192 MiB beside the kernel."""
    apps = [
        App(name=f"app-{n}", footprint="40MiB", launch_set=1.0, resume_set=0.5, hot_share=0.5, hot_first=True, seed=n) for n in range(4)
    ]
    return Request(
        name="test",
        machine=Machine(dram=192 * MIB),
        design=[Design(name=Spec.parse(swap).key, swap=Spec.parse(swap), killer=Spec.parse("lmkd")) for swap in swaps],
        apps=apps,
        launches=Launches(order=[app.name for app in apps], rounds=1, warm_up=1, foreground_ns=1_000_000),
        vm=VmRun.model_validate({"think_ns": 1_000_000, **vm}),
        seeds=1,
    )


def _burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_a_busy_host_changes_no_byte_and_no_page_is_lost() -> None:
    wanted = request("zram:size=96MiB", "nvm-copy:size=96MiB")
    first = run.run(wanted, jobs=2)
    burners = [multiprocessing.Process(target=_burn, args=(600,)) for _ in range(3)]
    for burner in burners:
        burner.start()
    try:
        second = run.run(wanted, jobs=1)
    finally:
        for burner in burners:
            burner.kill()
            burner.join()
    assert first.model_dump_json() == second.model_dump_json()
    zram, nvm = first.rows
    for row in first.rows:
        assert row.swap_out_bytes > 5 * MIB and row.swap_in_bytes > MIB, row
        assert (row.bad_pages, row.count) == (0, 4) and row.checked_apps > 0
        assert row.file_read_bytes > 0 and row.delay_ms is not None and row.delay_ms.mean > 1
    assert zram.pool_bytes and zram.pool_bytes < zram.swap_out_bytes and nvm.pool_bytes is None
    assert zram.delay_ms and nvm.delay_ms and zram.delay_ms.mean != nvm.delay_ms.mean


def test_the_virtual_limit_ends_a_run() -> None:
    with pytest.raises(Failed, match="more than 2 s of virtual time"):
        run.run(request("none", virtual_limit_s=2), jobs=1)


def test_an_interrupt_leaves_no_qemu(tmp_path: Path) -> None:
    program = tmp_path / "run.py"
    file = Path(__file__).parents[3] / "examples" / "vm.toml"
    program.write_text("import runpy, sys\nsys.argv[0] = 'vm'\nrunpy.run_module('swaplab.worlds.vm', run_name='__main__')\n")
    process = subprocess.Popen([sys.executable, program, file], stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    found: list[int] = []
    for _ in range(600):
        found = [int(pid) for task in Path(f"/proc/{process.pid}/task").glob("*/children") for pid in task.read_text().split()]
        if any("qemu" in Path(f"/proc/{pid}/comm").read_text() for pid in found):
            break
        time.sleep(0.1)
    assert found, children
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.strip().splitlines()[-1]) == (130, "swaplab: interrupted")
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)
