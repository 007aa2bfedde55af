"""`swaplab rerun` finds the same bytes, and notices when they are not; `swaplab init` writes files that can be run."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from swaplab import Experiment, Trace, cli
from swaplab.cli.init import PRESETS

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def swaplab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["swaplab", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


def test_a_replay_again(swaplab: Command, tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("page,op\n" + "".join(f"{(at * 7) % 31},{'RW'[at % 2]}\n" for at in range(500)))
    assert swaplab("replay", trace, "--policy", "lru,clock", "--memory", "50%", "--run", tmp_path / "runs")[0] == 0
    [run] = (tmp_path / "runs").iterdir()
    assert swaplab("rerun", run) == (0, "identical: summary.json\n", "")
    document = json.loads((run / "summary.json").read_text())
    document["points"][0]["faults"] += 1
    (run / "summary.json").write_text(json.dumps(document))
    assert swaplab("rerun", run)[:2] == (1, "different: summary.json\n")
    trace.unlink()
    code, _, said = swaplab("rerun", run)
    assert code == 2 and "t.csv" in said and said.count("\n") == 1


def test_a_sweep_again(swaplab: Command, tmp_path: Path) -> None:
    shutil.copy(Trace.bundled("djpeg").path, tmp_path / "trace.slt")
    assert swaplab("init", tmp_path / "e.toml", "--preset", "sweep")[0] == 0
    sets = ("--set", "sweep.vary={'replay.memory'=['10%','20%']}")
    assert swaplab("sweep", tmp_path / "e.toml", *sets, "--jobs", "1", "-o", tmp_path / "out")[0] == 0
    # The manifest says it all: the file is not needed.
    (tmp_path / "e.toml").unlink()
    assert swaplab("rerun", tmp_path / "out") == (0, "identical: summary.json, results.parquet\n", "")


def test_a_simulated_phone_again(swaplab: Command, tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('seed = 5\n[sim]\nlaunches = "zipf:launches=20"\nseeds = 2\n[[sim.schemes]]\nname = "zram"\nswap = "zram:size=64MiB"\n')
    assert swaplab("sim", file, "--run", tmp_path / "runs")[0] == 0
    [run] = (tmp_path / "runs").iterdir()
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["experiment"][0]["sim"]["phone"]["dram_mib"] == 1536 and manifest["seed"] == 5
    assert manifest["inputs"] and {"swaplab", "python", "polars"} <= manifest["versions"].keys()
    file.unlink()
    code, said, _ = swaplab("rerun", run)
    assert code == 0 and said.startswith("identical: summary.json, ") and "launches.parquet" in said


def test_what_can_not_be_run_again(swaplab: Command, tmp_path: Path) -> None:
    assert "expected a run folder" in swaplab("rerun", tmp_path)[2]
    result = Trace.bundled("djpeg").replay("lru", "50%")
    sys.argv = ["python"]
    page = result.save("api", tmp_path)
    code, _, said = swaplab("rerun", page.parent)
    assert code == 2 and "no 'command'" in said
    manifest = json.loads((page.parent / "manifest.json").read_text())
    (page.parent / "manifest.json").write_text(json.dumps(manifest | {"command": ["replay", "--help"]}))
    code, _, said = swaplab("rerun", page.parent)
    assert code == 2 and "replay --help: writes no run" in said and said.count("\n") == 1


def test_every_preset_is_an_experiment(swaplab: Command, tmp_path: Path) -> None:
    for preset in PRESETS.glob("*.toml"):
        file = tmp_path / f"{preset.stem}.toml"
        assert swaplab("init", file, "--preset", preset.stem)[0] == 0
        Experiment.from_file(file).resolved()
    assert "is there already" in swaplab("init", file)[2]
    code, _, said = swaplab("init", tmp_path / "new.toml", "--preset", "none")
    assert code == 2 and "expected one of" in said and not (tmp_path / "new.toml").exists()
