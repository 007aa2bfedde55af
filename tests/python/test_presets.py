"""Every preset runs as `swaplab new` writes it. A live one for which the machine lacks a capability
ends with its name.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from command import here
from swaplab.core import experiment as experiments
from swaplab.core import registry
from swaplab.core.experiment import PRESETS
from swaplab.core.presets import presets

KEYS = sorted(presets())
#: Changes that shorten a preset's run without changing its kind.
SHORTER = {
    **{f"a2s-{size}": ["run.seeds=1"] for size in ("small", "medium", "large")},
    **{name: ["run.seeds=1"] for name in ("dr-swap", "kim-bahn", "swapbench", "against-sim", "against-sim-unseen", "quick")},
    "upper-bounds": ["run.seeds=1", 'workload.launches="small"'],
    "android-15": ["run.seeds=1", "workload.launches=zipf:launches=60", "machine.dram=5GiB"],
    "sweep": ['vary={"machine.dram"=["10%","20%"],"run.replay.swap_device"=["optane-m10","ufs-3.1"]}'],
}
#: Worlds that change this machine or need capabilities that it may lack: their presets are checked
#: and run as a dry run.
LIVE = {"kernel", "vm"}


def test_an_entry_is_found_by_its_key() -> None:
    for kind in registry.KINDS:
        keys = [row.key for row in registry.rows(kind)]
        assert keys and [registry.entry(kind, key).key for key in keys] == keys


def test_the_presets_are_files_of_one_folder() -> None:
    assert sorted(path.stem for path in PRESETS.glob("*.toml")) == KEYS and len(KEYS) >= 8
    assert [key for key, about in presets().items() if not about.endswith("?")] == [], "`about` is the question that the preset asks"
    assert {row["key"] for row in here("list", "presets", "--json").document["presets"]} == set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_a_new_file_equals_the_preset_and_every_design_is_run_or_refused_by_name(key: str, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    done = here("new", file, "--preset", key)
    assert done.code == 0 and f"swaplab run {file}" in done.out
    assert file.read_bytes() == (PRESETS / f"{key}.toml").read_bytes()
    found = here("check", file, "--json").document
    assert found["on"] and found["designs"]
    for one in found["designs"]:
        for world in found["on"]:
            assert one["worlds"][world] is True, (key, one["design"], one["worlds"][world])


#: Presets whose run takes longest.
LONG = ("a2s-small", "a2s-large", "a2s-medium", "android-15", "dr-swap", "kim-bahn", "upper-bounds")


@pytest.mark.parametrize("key", [pytest.param(key, marks=pytest.mark.long) if key in LONG else key for key in KEYS])
def test_a_preset_runs_without_changes(key: str, tmp_path: Path) -> None:
    file, out = tmp_path / "x.toml", tmp_path / "run"
    assert here("new", file, "--preset", key).code == 0
    sets = [word for change in SHORTER.get(key, []) for word in ("--set", change)]
    worlds = set(experiments.read(file).run.on)
    if worlds & LIVE:
        done = here("run", file, *sets, "--dry-run")
        if done.code == 3:
            done.refuses(code=3)
            assert done.err.partition(": ")[2].strip(), "what is missing is named"
        else:
            assert done.code == 0, done.err
        return
    done = here("run", file, *sets, "-o", out)
    if done.code == 3:
        assert worlds - {"replay", "phone"}, "a simulation lacks nothing"
        done.refuses(code=3)
        return
    assert done.code == 0, done.err
    assert {"manifest.json", "summary.json", "report.html"} <= {path.name for path in out.iterdir()}
    document = here("report", out, "--json")
    assert document.code == 0
    rows = here("run", file, *sets, "-o", out, "--resume", "--json").document["rows"]
    assert rows and all(row["invalid"] is not None or any(row["paging"].values()) for row in rows)
    assert any(row["paging"]["swap_out_bytes"] or row["paging"]["swap_writes"] for row in rows), "something was swapped out"


def test_the_default_is_a_preset_that_runs(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    assert here("new", file).code == 0
    done = here("run", file)
    assert done.code == 0 and "replay (simulated)" in done.out
    here("new", file).refuses("exists already")
    here("new", tmp_path / "y.toml", "--preset", "none").refuses("unknown preset 'none'", "expected one of")
    here("new", tmp_path / "y.toml", "--preset", "a2s-lage").refuses("a2s-large")
    here("new", tmp_path / "nowhere" / "y.toml").refuses("No such file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.toml"]


def test_no_built_in_experiment_exists_twice() -> None:
    """One folder holds every built-in experiment."""
    package = PRESETS.parent
    others = [path for path in package.rglob("*.toml") if not path.is_relative_to(PRESETS)]
    assert [path for path in others if {"design", "replay", "sim", "bench"} & tomllib.loads(path.read_text()).keys()] == []


def test_a_device_file_is_a_start_for_ones_own(tmp_path: Path) -> None:
    """A copy costs as much as the device; it is a file that every device key takes."""
    own = tmp_path / "mine.toml"
    assert here("new", own, "--device", "optane-m10").code == 0
    call = ("replay", "djpeg", "--memory", "10%", "--swap", "nvm-copy", "--json", "--set")
    copied = here(*call, f"machine.devices.nvm={own}").document["rows"][0]["time"]["io_ns"]
    assert copied == here(*call, "machine.devices.nvm=optane-m10").document["rows"][0]["time"]["io_ns"] > 0
    here("new", tmp_path / "x.toml", "--device", "optane").refuses("optane-m10")
    here("new", tmp_path / "x.toml", "--device", "optane-m10", "--preset", "replay").refuses("--device or --preset")
    here("new", own, "--device", "ufs-3.1").refuses("exists already")
    assert not (tmp_path / "x.toml").exists()
