"""A stock kernel in QEMU by `swaplab run`: something is swapped, nothing is lost, and a second run gives the same document.

Runs where the guest's parts are here, or can be fetched from the distribution in under a minute (60 MB, once, into the user's cache).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command import SWAPLAB, Done, swaplab
from swaplab import NotSupported
from swaplab.worlds.vm import driver, guest, kernels, tools

MIB = 1 << 20
#: Three apps that do not fit into a small guest beside the kernel.
EXPERIMENT = """
machine = { dram = "192MiB" }
design = [{ swap = "zram:size=96MiB", killer = "lmkd" }]
run = { on = ["vm"], seeds = 1, vm = { kernel = "debian-6.12", think = "1ms" } }
[workload]
apps = [{ use = "phone-app", name = "app", count = 3, footprint = "44MiB" }]
launches = { rounds = 1, warm_up = 1, foreground = "1ms" }
"""


@pytest.fixture(scope="module", autouse=True)
def _everything_is_there() -> None:
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
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.toml"
    path.write_text(EXPERIMENT)
    return path


#: One guest is what `make test` has time for; `make soak` runs the others.
soak = pytest.mark.skipif("SWAPLAB_SOAK_SECONDS" not in os.environ, reason="more guests take minutes: SWAPLAB_SOAK_SECONDS=1 runs them")


def run(file: Path, *words: object) -> Done:
    return swaplab("run", file, *words, timeout=900)


def test_something_is_swapped_no_page_is_lost_and_the_document_is_that_of_every_world(file: Path, tmp_path: Path) -> None:
    document = run(file, "-o", tmp_path / "out", "--json").document
    [row] = document["rows"]
    assert (row["world"], row["kind"], row["swap"], row["invalid"]) == ("vm", "virtual", "zram:size=96MiB", None)
    assert row["paging"]["swap_out_bytes"] > MIB and row["paging"]["file_read_bytes"] > 0 and row["launches"]["count"] == 3
    assert row["kernel"]["bad_pages"] == 0 and row["kernel"]["checked_apps"] > 0 and row["launches"]["delay_ms"]["mean"] > 1
    assert row["memory"]["pool_peak_bytes"] > 0 and row["energy"] is None and document["machine"] is None
    assert any(name.endswith("image sha256") for name in document["versions"])
    assert {"launches.parquet", "timeline.parquet", "kills.parquet", "report.html", "report.pftrace"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }


@soak
def test_a_control_group_is_the_limit_where_memory_is_the_apps_alone(file: Path) -> None:
    found = run(file, "--set", "machine.dram=64MiB", "--json").document
    [row] = found["rows"]
    assert row["paging"]["swap_out_bytes"] > 8 * MIB and row["kernel"]["bad_pages"] == 0
    assert row["memory"]["dram_bytes"] == 64 * MIB < row["memory"]["total_dram_bytes"], "zram's pool lies beside the group"
    assert any("limits a control group" in line for line in found["warnings"])


@soak
def test_two_runs_give_equal_documents(file: Path) -> None:
    first, second = (run(file, "--json") for _ in range(2))
    assert first.document == second.document


@soak
def test_an_interrupt_leaves_no_qemu(file: Path) -> None:
    process = subprocess.Popen([SWAPLAB, "run", file], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found: list[int] = []
    for _ in range(1200):
        tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
        found = [int(pid) for task in tasks for pid in task.read_text().split()]
        if any("qemu" in Path(f"/proc/{pid}/comm").read_text() for pid in found):
            break
        time.sleep(0.1)
    assert found, "QEMU was started"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130 and errors.strip().splitlines()[-1].startswith("swaplab: "), errors
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)


@soak
def test_the_virtual_limit_ends_a_run(file: Path) -> None:
    done = run(file, "--set", "run.vm.virtual_limit=2s")
    assert done.code == 1 and "more than 2 s of virtual time" in done.err and "Traceback" not in done.err, done
