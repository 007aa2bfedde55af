"""`swaplab bench` on this machine's kernel: a small measurement, and the bad input that only a run can find."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from machine_state import machine_state
from swaplab import NotSupported
from swaplab.live.bench.schemes import SCHEMES
from swaplab.live.capabilities import require

SWAPLAB = [sys.executable, "-c", "from swaplab.cli import main; main()"]
RUN = {"capture_output": True, "text": True, "timeout": 400, "check": True}
EXPERIMENT = """
[bench]
name = "small"
memory = "MEMORY"
swap = ["SWAP"]
schemes = ["SCHEME"]
rounds = 2
repetitions = 1
foreground_seconds = 0
killer = { thrashing_limit = 1e9 }
apps = [{ use = "APP", name = "one" }, { use = "swaplab-app", name = "two", set = { footprint = "24MiB" } }]
"""
APP = """
name = "app"
command = ["sh", "-c", "COMMAND"]
ready_seconds = 1
ready = [{ expect = "never said" }]
request = [{ expect = "x" }]
"""


@pytest.fixture
def bench(tmp_path: Path):
    before = machine_state()

    def one(memory="40MiB", swap="64MiB", scheme="zram", app="swaplab-app", command="", options=()) -> subprocess.CompletedProcess[str]:
        if command:
            app = str(tmp_path / "app.toml")
            Path(app).write_text(APP.replace("COMMAND", command))
        text = EXPERIMENT.replace("MEMORY", memory).replace("SWAP", swap).replace("SCHEME", scheme).replace("APP", app)
        (tmp_path / "exp.toml").write_text(text)
        command_line = [*SWAPLAB, "bench", str(tmp_path / "exp.toml"), "--json", *options]
        # Logs of apps that failed stay in the folder for temporary files.
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        return subprocess.run(command_line, capture_output=True, text=True, timeout=120, check=False, env=environment)

    yield one
    assert machine_state() == before


def test_a_small_measurement_has_the_promised_keys_and_right_pages(bench):
    done = bench()
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (row,) = document["schemes"]
    assert document["schema"] == 1 and row["kind"] == "measured" and row["name"] == "zram"
    promised = {"launch_ms", "switch_ms", "cold_ms", "kills", "swap_in_bytes", "swap_out_bytes", "psi_full_us", "calibration", "memory"}
    assert set(row) >= promised
    assert row["bad_pages"] == 0 and row["checked_apps"] == 2
    assert row["switch_ms"]["n"] == 4 and row["cold_ms"]["n"] == 2 and row["kills"] == 0
    assert row["swap_out_bytes"] > 2**20 and row["memory"]["peak_bytes"] <= 40 * 2**20
    assert row["memory"]["total_bytes"] == row["memory"]["limit_bytes"] + row["memory"]["pool_bytes"] and row["memory"]["pool_bytes"] > 0
    assert row["calibration"]["switch_predicted"] == 4


def test_a_run_folder_and_a_second_measurement(bench, tmp_path):
    done = bench(options=("-o", str(tmp_path / "runs")))
    assert done.returncode == 0, done.stderr
    [run] = (tmp_path / "runs").iterdir()
    assert {"launches.parquet", "timeline.parquet", "kills.parquet", "report.pftrace"} <= {file.name for file in run.iterdir()}
    launches, timeline = (pl.read_parquet(run / f"{name}.parquet") for name in ("launches", "timeline"))
    visits = json.loads(done.stdout)["schemes"][0]["visits"]
    assert launches["app"].to_list() == [visit["app"] for visit in visits] and launches["warm_up"].sum() == 2
    ends = launches["at_ns"] + launches["ready_ns"]
    assert launches["at_ns"].is_sorted() and (ends[:-1] <= launches["at_ns"][1:]).all()
    assert (timeline["at_ns"] >= ends).all() and timeline["anon_bytes"].max() > 2**20 and timeline["swap_out_bytes"].is_sorted()
    again = subprocess.run([*SWAPLAB, "rerun", str(run), "--json"], capture_output=True, text=True, timeout=120, check=False)
    [row] = json.loads(again.stdout)["configurations"]
    assert again.returncode == (0 if row["agree"] else 1) and row["name"] == "zram" and row["kills"] == {"then": 0, "now": 0}


def test_a_sweep_measures_its_points_one_after_the_other(bench, tmp_path):
    assert bench(options=("--dry-run",)).returncode == 0
    experiment = tmp_path / "exp.toml"
    experiment.write_text(experiment.read_text() + '[sweep.vary]\n"bench.swap" = ["16MiB", "64MiB"]\n')
    sweep = [*SWAPLAB, "sweep", str(experiment), "--set", "bench.calibrate=false", "--jobs", "2", "-o", str(tmp_path / "out"), "--json"]
    document = json.loads(subprocess.run(sweep, **RUN).stdout)
    assert [(row["bench.swap"], row["swap_bytes"] >> 20) for row in document["points"]] == [("16MiB", 16), ("64MiB", 64)]
    assert document["kind"] == "measured" and all(row["bad_pages"] == 0 for row in document["points"])
    # All is done: nothing is measured again, so even the times stay.
    assert json.loads(subprocess.run([*sweep, "--resume"], **RUN).stdout) == document


def test_without_swap_apps_are_killed_and_start_cold_again(bench):
    done = bench(scheme="none", memory="32MiB")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["schemes"]
    assert row["kills"] >= 3 and row["cold_starts"] >= 3 and row["swap_out_bytes"] == 0


@pytest.mark.parametrize("scheme", ["nvm-direct", "nvm-copy", "nvm-cache"])
def test_apps_under_the_pager_keep_every_page(bench, scheme):
    try:
        require(SCHEMES[scheme].needs, "this test")
    except NotSupported as error:
        pytest.skip(str(error))
    done = bench(scheme=scheme)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["schemes"]
    assert row["kind"] == "emulated" and row["bad_pages"] == 0 and row["checked_apps"] == 2 and row["kills"] == 0
    assert row["swap_out_bytes"] > 2**20 and row["swap_in_bytes"] > 0
    assert (row["direct_reads"] > 0) == (scheme == "nvm-direct")
    assert row["memory"]["peak_bytes"] <= 40 * 2**20 and row["memory"]["total_bytes"] >= 40 * 2**20


def test_a_slower_card_is_emulated_only_if_its_rates_were_measured(bench):
    done = bench(scheme="sd-card", memory="64MiB")
    if done.returncode == 0:
        (row,) = json.loads(done.stdout)["schemes"]
        assert row["kind"] == "emulated"
        assert row["throttle"] == {"reads_per_s": pytest.approx(1500, rel=0.25), "writes_per_s": pytest.approx(500, rel=0.25)}
    else:
        assert done.returncode == 3 and ("measured " in done.stderr or "blkio" in done.stderr), done.stderr


def test_a_ready_test_that_never_comes_ends_in_time_and_keeps_the_log(bench):
    done = bench(command="echo last words >&2; sleep 60")
    assert done.returncode == 2 and "expected its ready test within 1 s; log " in done.stderr and "last words" in done.stderr
    assert "last words" in Path(done.stderr.split("; log ")[1].split(": ")[0]).read_text()


def test_a_command_that_ends_at_once_says_its_exit_code(bench):
    done = bench(command="exit 7")
    assert done.returncode == 2 and "(exit code 7) before its ready test" in done.stderr


@pytest.mark.parametrize("scheme", ["none", "zram"])
def test_a_limit_below_one_app_is_bad_input(bench, scheme):
    done = bench(memory="8MiB", swap="4MiB", scheme=scheme)
    assert done.returncode == 2 and "expected a limit above what one app needs" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("scheme", "what"), [("flash", "expected at most half of what is free"), ("ramdisk", "are available"), ("zram", "are available")]
)
def test_a_swap_larger_than_the_machine_is_bad_input(bench, scheme, what):
    done = bench(swap="100000GiB", scheme=scheme)
    assert done.returncode == 2 and what in done.stderr


def test_root_is_not_lent_to_an_experiment():
    done = subprocess.run([*SWAPLAB, "bench", "quick", "--user", "root"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "--as-root" in done.stderr


def test_user_mode_linux_counts_as_this_kernel_does(bench):
    """The same experiment on two kernels and both cgroup versions: swap-outs alike, kills equal, no times from the guest."""
    try:
        require(["uml"], "this test")
    except NotSupported as error:
        pytest.skip(str(error))
    (ours,), (theirs,) = [json.loads(bench(options=("--target", target)).stdout)["schemes"] for target in ("local", "uml")]
    assert theirs["kind"] == "emulated" and theirs["switch_ms"] is None and theirs["bad_pages"] == 0
    assert ours["kills"] == theirs["kills"] == 0
    assert theirs["swap_out_bytes"] == pytest.approx(ours["swap_out_bytes"], rel=0.25)


def test_the_kernels_events_are_kept_and_counted(bench, tmp_path):
    try:
        require(["ftrace"], "this test")
    except NotSupported as error:
        pytest.skip(str(error))
    done = bench(options=("--trace", str(tmp_path)))
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["schemes"]
    text = (tmp_path / f"zram-{64 * 2**20}-none.ftrace").read_text()
    assert row["events"]["mm_vmscan_write_folio"] * 4096 >= row["swap_out_bytes"]
    assert text.count("mm_vmscan_write_folio") == row["events"]["mm_vmscan_write_folio"]


def test_a2s_keeps_the_kernel_from_swapping_apps_it_does_not_know_yet(bench, tmp_path):
    """Fewer than three launches make no app eligible: nothing is swapped out, and the killer frees memory instead."""
    both = bench(options=("--dry-run",))
    assert both.returncode == 0
    experiment = tmp_path / "exp.toml"
    text = experiment.read_text().replace("rounds = 2", 'rounds = 1\nwarm_up_rounds = 1\napp_policies = ["none", "a2s"]')
    experiment.write_text(text)
    done = subprocess.run([*SWAPLAB, "bench", str(experiment), "--json"], capture_output=True, text=True, timeout=120, check=False)
    vanilla, steered = json.loads(done.stdout)["schemes"]
    assert (vanilla["app_policy"], steered["app_policy"]) == ("none", "a2s")
    assert vanilla["swap_out_bytes"] > 2**20 and vanilla["kills"] == 0
    assert steered["swap_out_bytes"] == 0 and steered["kills"] >= 1
