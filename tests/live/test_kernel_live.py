"""Tests the world `kernel` on this machine: small measurements, and bad input that only a run can
detect.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from machine_state import machine_state
from swaplab.core.errors import NotSupported
from swaplab.core.model import Document, Row
from swaplab.worlds.capabilities import require
from swaplab.worlds.kernel.schemes import SCHEMES

RUN = [sys.executable, str(Path(__file__).parent / "kernel_run.py")]
EXPERIMENT = """
machine = { dram = "MEMORY", killer = "lmkd:psi_partial_stall_ms=0,psi_complete_stall_ms=1000000,thrashing_limit=1000000" }
design = [DESIGNS]
run = { on = ["kernel"], seeds = 1, kernel = { calibrate = false } }
workload.launches = { rounds = 2, warm_up = 1, foreground = "0" }
workload.apps = [{ use = "APP", name = "one" }, { use = "swaplab-app", name = "two", footprint = "24MiB" }]
"""
APP = """
name = "app"
command = ["sh", "-c", "COMMAND"]
ready_seconds = 1
ready = [{ expect = "never said" }]
request = [{ expect = "x" }]
"""


@pytest.fixture
def kernel(tmp_path: Path):
    before = machine_state()

    def run(
        memory="40MiB", swap="zram:size=64MiB", app="swaplab-app", command="", options=(), designs=""
    ) -> subprocess.CompletedProcess[str]:
        if command:
            app = str(tmp_path / "app.toml")
            Path(app).write_text(APP.replace("COMMAND", command))
        designs = designs or f'{{ swap = "{swap}" }}'
        (tmp_path / "exp.toml").write_text(EXPERIMENT.replace("MEMORY", memory).replace("DESIGNS", designs).replace("APP", app))
        # Logs of failed apps are kept in the folder for temporary files.
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        command_line = [*RUN, str(tmp_path / "exp.toml"), *options]
        return subprocess.run(command_line, capture_output=True, text=True, timeout=240, check=False, env=environment)

    yield run
    assert machine_state() == before


def only_row(done: subprocess.CompletedProcess[str]) -> Row:
    assert done.returncode == 0, done.stderr
    (row,) = Document.model_validate_json(done.stdout).rows
    return row


def test_a_small_measurement_has_every_group_and_no_bad_page(kernel):
    done = kernel(options=("run.kernel.calibrate=true",))
    row = only_row(done)
    document = Document.model_validate_json(done.stdout)
    assert row.kind == "measured" and row.design == "zram" and row.kernel.bad_pages == 0 and row.kernel.checked_apps == 2
    assert row.launches.resume_ms.n == 4 and row.launches.cold_ms.n == 2 and row.launches.kills == 0
    assert row.paging.swap_out_bytes > 2**20 and row.kernel.counters["peak_bytes"] <= 40 * 2**20
    assert row.memory.total_dram_bytes == row.memory.dram_bytes + row.memory.pool_bytes and row.memory.pool_bytes > 0
    assert row.kernel.calibration.errors["switch_visits"] == 4 and row.kernel.calibration.own_ms["one"][0] > 0
    assert document.machine.disk_rates and document.machine.user and document.machine.kernel.startswith("Linux")


def test_repetitions_are_reported_by_seed(kernel):
    row = only_row(kernel(options=("run.seeds=2", "run.seed=4")))
    assert row.seeds == 2 and [repetition.seed for repetition in row.by_seed] == [4, 5] and row.kernel.calibration is None
    swap_out_bytes = [repetition.figures["paging.swap_out_bytes"] for repetition in row.by_seed]
    assert sum(swap_out_bytes) / 2 == pytest.approx(row.paging.swap_out_bytes)
    assert set(row.interval) >= {"launches.delay_ms.mean", "launches.resume_ms.p50"}


def test_points_are_measured_one_after_the_other(kernel):
    done = kernel(options=('vary={"design.zram.swap.size"=["16MiB","64MiB"]}',))
    assert done.returncode == 0, done.stderr
    rows = Document.model_validate_json(done.stdout).rows
    assert [(row.point["design.zram.swap.size"], row.kernel.swap_size_bytes >> 20) for row in rows] == [("16MiB", 16), ("64MiB", 64)]
    assert all(row.kernel.bad_pages == 0 for row in rows)


def test_without_swap_apps_are_killed_and_start_cold_again(kernel):
    row = only_row(kernel(swap="none", memory="32MiB"))
    assert row.launches.kills >= 3 and row.launches.cold >= 3 and row.paging.swap_out_bytes == 0


@pytest.mark.parametrize("scheme", ["nvm-direct", "nvm-copy", pytest.param("nvm-cache", marks=pytest.mark.long)])
def test_apps_under_the_pager_keep_every_page(kernel, scheme):
    try:
        require(SCHEMES[scheme].needs, "this test")
    except NotSupported as error:
        pytest.skip(str(error))
    row = only_row(kernel(swap=f"{scheme}:size=64MiB" + (",nvm=16MiB" if scheme == "nvm-cache" else "")))
    assert row.kind == "emulated" and row.kernel.bad_pages == 0 and row.kernel.checked_apps == 2 and row.launches.kills == 0
    assert row.paging.swap_out_bytes > 2**20 and row.paging.swap_in_bytes > 0
    assert (row.paging.direct_reads > 0) == (scheme == "nvm-direct")
    assert row.kernel.counters["peak_bytes"] <= 40 * 2**20 and row.memory.total_dram_bytes >= 40 * 2**20 and row.memory.metadata_bytes > 0


def test_a_slower_card_is_emulated_only_if_its_rates_were_measured(kernel):
    done = kernel(swap="sd-card:size=64MiB", memory="64MiB")
    if done.returncode == 0:
        row = only_row(done)
        assert row.kind == "emulated"
        assert row.kernel.throttle["reads_per_s"] == pytest.approx(row.kernel.throttle["wanted_reads_per_s"], rel=0.25)
    else:
        assert done.returncode == 3 and ("measured " in done.stderr or "blkio" in done.stderr), done.stderr


def test_a_ready_test_that_never_matches_times_out_and_keeps_the_log(kernel):
    done = kernel(command="echo last words >&2; sleep 60")
    assert done.returncode == 2 and "expected its ready test within 1 s; log " in done.stderr and "last words" in done.stderr
    assert "last words" in Path(done.stderr.split("; log ")[1].split(": ")[0]).read_text()


def test_the_exit_code_of_a_command_that_ends_at_once_is_reported(kernel):
    done = kernel(command="exit 7")
    assert done.returncode == 2 and "(exit code 7) before its ready test" in done.stderr


@pytest.mark.parametrize("scheme", ["none", "zram"])
def test_a_limit_below_one_app_is_bad_input(kernel, scheme):
    done = kernel(memory="8MiB", swap="none" if scheme == "none" else f"{scheme}:size=4MiB")
    assert done.returncode == 2 and "expected a limit above what one app needs" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("scheme", "message"), [("flash", "expected at most half of what is free"), ("ramdisk", "are available"), ("zram", "are available")]
)
def test_a_swap_larger_than_the_machine_is_bad_input(kernel, scheme, message):
    done = kernel(swap=f"{scheme}:size=100000GiB")
    assert done.returncode == 2 and message in done.stderr


def test_apps_run_as_root_only_with_as_root(kernel):
    done = kernel(options=("run.kernel.user=root",))
    assert done.returncode == 2 and "--as-root" in done.stderr


def test_the_kernels_events_are_saved_and_counted(kernel, tmp_path):
    try:
        require(["ftrace"], "this test")
    except NotSupported as error:
        pytest.skip(str(error))
    done = kernel(options=("run.kernel.events=true", "--files", str(tmp_path)))
    assert done.returncode == 0, done.stderr
    row = Row.model_validate_json(done.stdout)
    text = (tmp_path / "zram-0.ftrace").read_text()
    assert row.kernel.events["mm_vmscan_write_folio"] * 4096 >= row.paging.swap_out_bytes > 2**20
    assert text.count("mm_vmscan_write_folio") == row.kernel.events["mm_vmscan_write_folio"]


def test_a2s_forbids_swap_outs_of_apps_with_too_few_launches(kernel):
    """With fewer than three launches no app is eligible: nothing is swapped out, and a killer frees
    memory instead.
    """
    designs = '{ swap = "zram:size=64MiB" }, { swap = "zram:size=64MiB", app_policy = "a2s" }'
    done = kernel(designs=designs, options=("workload.launches.rounds=2", "workload.launches.warm_up=0"))
    assert done.returncode == 0, done.stderr
    vanilla, steered = Document.model_validate_json(done.stdout).rows
    assert (vanilla.app_policy, steered.app_policy) == ("none", "a2s")
    assert vanilla.paging.swap_out_bytes > 2**20 and vanilla.launches.kills == 0
    assert steered.paging.swap_out_bytes == 0 and steered.launches.kills >= 1
