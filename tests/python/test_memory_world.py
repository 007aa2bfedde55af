"""The world `memory`: real programs under the pager, without root, and refusals before any program
starts.
"""

import json
import signal
import sys
from pathlib import Path

import pytest
from swaplab._core import pager_check
from swaplab.core import experiment as experiments
from swaplab.core.errors import BadInput, NotSupported
from swaplab.core.model import Experiment
from swaplab.worlds import memory
from swaplab.worlds.result import Options

try:
    pager_check("nvm-direct", "refault", "")
    PAGER = ""
except NotSupported as missing:
    PAGER = str(missing)
needs_pager = pytest.mark.skipif(bool(PAGER), reason=f"no pager on this machine: {PAGER}")

EXPERIMENT = """
machine.dram = "DRAM"
design = [{ swap = "nvm-direct" }, { swap = "zram:size=64MiB", policy = "clock" }]
run = { on = ["memory"], seeds = 2, seed = 3 }
workload.launches = { rounds = 2, warm_up = 1, foreground = "0" }
workload.apps = [{ use = "swaplab-app", name = "one", footprint = "24MiB", file_share = 0.05, resume_set = 0.8 }]
"""
WRITER = "x = [bytearray(b'a' * 4096) for _ in range(6000)]; print(sum(map(len, x)))"


def parsed(text: str) -> Experiment:
    return experiments.parse(text, "x.toml")


def of_command(*command: str, dram: str = "8MiB", more: str = "") -> Experiment:
    return parsed(
        f'machine.dram = "{dram}"\nrun.on = ["memory"]\n{more}\nworkload.apps = [{{ command = {json.dumps(command)} }}]\n'
        '[[design]]\nswap = "nvm-copy"\n'
    )


@needs_pager
def test_apps_on_less_dram_keep_every_page():
    wanted = parsed(EXPERIMENT.replace("DRAM", "12MiB").replace(', policy = "clock"', ""))
    experiments.refuse(wanted, "x.toml")
    result = memory.run([wanted], Options(tables=True))
    direct, zram = result.rows
    assert (direct.kind, zram.kind) == ("emulated", "measured") and not result.warnings
    for row in (direct, zram):
        assert (row.launches.count, row.launches.cold, row.launches.resumes) == (2, 0, 2)
        assert row.launches.cold_ms.n == 2 and row.launches.resume_ms.n == 4 and row.launches.resume_ms.mean > 0
        assert row.paging.swap_out_bytes > 2**20 and row.paging.swap_in_bytes > 0
        # The budget is far below the app's memory. Compliance with the budget is tested in
        # test_run.
        assert 0 < row.memory.dram_bytes < 20 << 20 and [one.seed for one in row.by_seed] == [3, 4]
        swapped = [one.figures["paging.swap_out_bytes"] for one in row.by_seed]
        assert sum(swapped) / 2 == pytest.approx(row.paging.swap_out_bytes)
    assert direct.paging.direct_reads > 0 and zram.paging.direct_reads == 0
    assert direct.memory.nvm_bytes > 0 and zram.memory.nvm_bytes == 0 and zram.memory.pool_bytes > 0
    assert result.tables["launches"].height == 2 * 2 * 3 and result.host.kernel.startswith("Linux")


@needs_pager
def test_a_command_runs_to_completion():
    (row,) = memory.run([of_command(sys.executable, "-c", WRITER)], Options()).rows
    assert row.program.exit_code == 0 and row.launches is None and row.paging.swap_out_bytes > 2**20 and row.time.wall_ns > 0
    (row,) = memory.run([of_command("sh", "-c", "exit 7")], Options()).rows
    assert row.program.exit_code == 7


@needs_pager
def test_one_command_passes_its_exit_code_and_writes_statistics(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    code = memory.execute(of_command(sys.executable, "-c", WRITER + "; raise SystemExit(5)"), tmp_path / "stats.json", tmp_path / "run.slt")
    assert [signal.getsignal(number) for number in signal.valid_signals()] == handlers, "Ctrl-C works in the caller's program as before"
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert code == 5 and capfd.readouterr().out == f"{6000 * 4096}\n"
    assert stats["exit_code"] == 5 and stats["kind"] == "emulated" and stats["swap_outs"] > 0 and len(stats["processes"]) == 1
    assert (tmp_path / "run.slt").stat().st_size > 0 and sorted(path.name for path in tmp_path.iterdir()) == ["run.slt", "stats.json"]


@needs_pager
@pytest.mark.parametrize("option", ["stats", "record"])
def test_outputs_are_checked_before_the_command_starts(tmp_path: Path, option: str):
    wanted = of_command("touch", str(tmp_path / "ran"))
    for place in (tmp_path, tmp_path / "none" / "file", tmp_path / "caf\udce9" / "file"):
        with pytest.raises(BadInput, match="expected a place to write the file"):
            memory.execute(wanted, **{option: place})
    assert not (tmp_path / "ran").exists()


@needs_pager
def test_an_unmanageable_program_is_refused_or_warned_of(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    other = tmp_path / "other"
    other.write_bytes(b"\x7fELF\x01" + bytes(60))
    other.chmod(0o755)
    with pytest.raises(NotSupported, match="not a program for this machine"):
        memory.execute(of_command(str(other)))
    with pytest.raises(NotSupported, match="not a program for this machine"):
        memory.run([of_command(str(other))], Options())


@needs_pager
@pytest.mark.parametrize(
    ("wanted", "error", "complaint"),
    [
        (of_command("true", dram="4KiB"), BadInput, "machine.dram: '4KiB'; expected at least 1MiB"),
        (of_command("no-such-program"), BadInput, "command: 'no-such-program'; expected a program on the path"),
        (of_command("true", more='run.memory.nvm = "/none"'), BadInput, "run.memory.nvm: '/none'; expected a directory of a tmpfs"),
        (of_command("true", more='run.memory.medium = "pmc"'), BadInput, "pmc"),
        (
            of_command("true", more='run.memory.medium = "lpddr2-pcm"').model_copy(
                update={"design": parsed(EXPERIMENT.replace("DRAM", "2MiB")).design[:1]}
            ),
            NotSupported,
            "take nvm-copy to charge copies",
        ),
    ],
)
def test_unsupported_designs_are_refused_before_any_program_starts(wanted: Experiment, error: type[Exception], complaint: str):
    with pytest.raises(error) as caught:
        memory.run([wanted], Options())
    assert complaint in str(caught.value) and "\n" not in str(caught.value)


def test_a_policy_that_needs_more_than_faults_is_refused_by_name():
    with pytest.raises(BadInput, match="policy clock needs reference bits; this world has only faults"):
        experiments.refuse(parsed(EXPERIMENT.replace("DRAM", "12MiB")), "x.toml")
