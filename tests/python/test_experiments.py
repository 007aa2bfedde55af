"""The four example experiments, one per kind of workload. Each runs without changes, or is refused
with the reason.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import swaplab as sl
from command import DATA, EXPERIMENTS, Done, here, swaplab
from swaplab.core import experiment as experiments
from swaplab.core.errors import BadInput
from swaplab.core.model import Experiment, Use

FILES = sorted(EXPERIMENTS.glob("*.toml"))
WORLDS = {"replay", "phone", "memory", "kernel", "vm"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files, and the trace that one of them names."""
    for path in FILES:
        shutil.copy(path, tmp_path)
    shutil.copy(DATA / "djpeg.slt", tmp_path / "djpeg.slt")
    return tmp_path


def test_four_experiments_exist() -> None:
    assert [path.stem for path in FILES] == ["memory", "phone", "replay", "worlds"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_check_says_yes_or_the_reason_for_every_world(path: Path, folder: Path) -> None:
    found = here("check", folder / path.name, "--json").document
    assert set(found) == {"on", "designs"} and found["on"] == experiments.read(folder / path.name).run.on
    assert len(found["designs"]) == {"replay": 6, "phone": 1, "worlds": 3, "memory": 1}[path.stem]
    for one in found["designs"]:
        assert set(one) == {"design", "worlds"} and one["design"] and set(one["worlds"]) == WORLDS
        for world, answer in one["worlds"].items():
            assert answer is True or (isinstance(answer, str) and answer.startswith(f"{world}: ") and len(answer) > len(world) + 10)
        for world in found["on"]:
            assert one["worlds"][world] is True, one
    table = here("check", folder / path.name)
    assert table.code == 0 and all(one["design"] in table.out for one in found["designs"]) and "yes" in table.out


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_file_survives_a_round_trip(path: Path, folder: Path) -> None:
    read = experiments.read(folder / path.name)
    (folder / "again.toml").write_text(experiments.toml(read))
    again = experiments.read(folder / "again.toml")
    again.name = read.name
    assert again == read
    assert experiments.resolve(read) == read, "a resolved experiment resolves to itself"
    sl.Experiment.of(read).save(folder / "saved.toml")
    assert (folder / "saved.toml").read_text() == (folder / "again.toml").read_text()


def test_files_are_found_beside_the_experiment_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((Path(__file__).parents[2] / "examples" / "mine.py").read_text())
    text = "[[design]]\nname = 'own'\npolicy = 'mine.py:Mine'\n[workload]\ntrace = 'sqlite'\n"
    (tmp_path / "e.toml").write_text(f"{text}[vary]\n'design.own.policy' = ['lru', 'mine.py:Mine']\n'machine.dram' = ['20%']\n")
    read, found = experiments.read(tmp_path / "e.toml"), f"{tmp_path / 'mine.py'}:Mine"
    assert read.design[0].policy == found
    points = experiments.points(read)
    assert [(point["design.own.policy"], point["machine.dram"]) for point in points] == [("lru", "20%"), (found, "20%")]


def test_devices_and_apps_are_found_beside_the_experiment(tmp_path: Path) -> None:
    """An app's key is no file, even if there is one of its name."""
    for name in ("pcm.toml", "maps.toml", "mail"):
        (tmp_path / name).touch()
    apps = [{"use": "maps.toml"}, {"use": "mail"}]
    given = Experiment.model_validate({"machine": {"devices": {"nvm": "pcm.toml"}}, "workload": {"apps": apps}})
    found = experiments.resolve_paths(given, tmp_path)
    assert (found.machine.devices.nvm, found.machine.devices.flash) == (str(tmp_path / "pcm.toml"), "ufs-3.1")
    assert isinstance(found.workload.apps, list)
    assert [app.use for app in found.workload.apps if isinstance(app, Use)] == [str(tmp_path / "maps.toml"), "mail"]


def test_a_keyword_of_the_wrong_type_is_refused_by_its_place() -> None:
    expected = "experiment: machine: Input should be a valid dictionary or instance of Machine; expected an experiment as"
    with pytest.raises(BadInput, match=expected):
        experiments.build(machine=5)


def test_a_saved_machine_names_its_base() -> None:
    design = {"design": [{"policy": "lru"}], "workload": {"trace": "sqlite"}}
    for given, base in (({"dram": "64MiB"}, "plain"), ({"base": "nexus-5"}, "nexus-5")):
        saved = experiments.toml(experiments.build(machine=given, **design))
        assert f'base = "{base}"' in saved
    assert "base" not in experiments.toml(experiments.build(**design))


def test_replay_crosses_policies_and_schemes_over_five_sizes(folder: Path) -> None:
    found = here("run", folder / "replay.toml", "--json").document
    assert len(found["rows"]) == 30
    designs = [f"{policy} · {scheme}" for policy in ("clock", "lru", "arc") for scheme in ("zram", "nvm-direct")]
    assert [row["design"] for row in found["rows"][:6]] == designs
    assert [row["point"]["machine.dram"] for row in found["rows"][::6]] == ["5%", "10%", "15%", "20%", "25%"]
    for row in found["rows"]:
        assert row["kind"] == "simulated" and row["paging"]["swap_out_bytes"] > 0 and row["memory"]["total_dram_bytes"] > 0
        assert (row["paging"]["direct_reads"] > 0) == (row["swap"] == "nvm-direct"), row["design"]
    # With more memory each design has less traffic.
    for at in range(6):
        faults = [row["paging"]["faults"] for row in found["rows"][at::6]]
        assert faults == sorted(faults, reverse=True) and faults[0] > faults[-1]


def test_a_phone_gives_one_row_with_intervals_over_its_seeds(folder: Path) -> None:
    done = here("run", folder / "phone.toml", "--set", "run.seeds=3", "-o", folder / "out", "--json")
    [row] = done.document["rows"]
    assert (row["design"], row["kind"], row["seeds"], len(row["by_seed"])) == ("A2S", "simulated", 3, 3)
    assert row["launches"]["count"] == 256 and row["launches"]["cold"] > 0 and row["paging"]["swap_out_bytes"] > 0
    low, high = row["interval"]["launches.delay_ms.mean"]
    assert low < row["launches"]["delay_ms"]["mean"] < high
    tables = {path.stem for path in (folder / "out").glob("*.parquet")}
    assert {"launches", "timeline", "kills", "swap_entries"} <= tables
    assert sl.Result.open(folder / "out").launches().height > 0


def refused_or_run(done: Done) -> list[dict]:
    """Return the rows of a run; empty if the machine lacks a capability, which must then be
    named.
    """
    if done.code == 3:
        done.refuses(code=3)
        return []
    return done.document["rows"]


def test_worlds_runs_in_each_of_its_worlds(folder: Path) -> None:
    guest = here("run", folder / "worlds.toml", "--set", "run.vm.limit=guest", "--json")
    guest.refuses("vm: machine.dram = '64MiB'", "at least 192MiB")
    assert not (folder / "runs").exists()
    rows = here("run", folder / "worlds.toml", "--on", "phone", "--set", "run.seeds=2", "--json").document["rows"]
    assert [row["design"] for row in rows] == ["none", "flash", "zram"] and {row["world"] for row in rows} == {"phone"}
    for world in ("kernel", "vm"):
        dry = here("run", folder / "worlds.toml", "--on", world, "--dry-run")
        assert dry.code in (0, 3), dry
        if dry.code == 3:
            dry.refuses(code=3)


def test_a_dry_run_runs_no_world_also_of_a_sweep(folder: Path) -> None:
    for world in ("phone", "vm"):
        dry = here("run", folder / "worlds.toml", "--on", world, "--set", "vary={'run.seed'=[0, 1]}", "--dry-run", "-o", folder / "dry")
        if dry.code == 3:
            dry.refuses(code=3)
            continue
        assert (dry.code, set(dry.out.splitlines())) == (0, {f"world {world}: makes no change to the machine; not run"})
        assert not (folder / "dry").exists()
    assert here("run", folder / "worlds.toml", "--on", "phone", "--dry-run", "--json").document["rows"] == []


def test_memory_runs_redis_under_the_pager_or_names_the_missing_capability(folder: Path) -> None:
    for row in refused_or_run(swaplab("run", folder / "memory.toml", "--json")):
        assert row["world"] == "memory" and row["kind"] == "emulated", "DRAM poses as NVM"
        assert row["paging"]["direct_reads"] > 0 or row["paging"]["swap_out_bytes"] > 0


def test_a_world_refuses_keys_that_have_no_effect_by_name(folder: Path) -> None:
    cases = [
        ("memory.toml", "design.1.policy=arc", "policy arc needs every reference; this world has only faults"),
        ("memory.toml", "design.1.app_policy=a2s", "app policy a2s needs launches of apps"),
        ("replay.toml", "design.1.killer=minfree", "killer minfree has no apps to kill in replay"),
        ("phone.toml", "design.A2S.policy=opt-cost", "policy opt-cost"),
        ("phone.toml", "run.on=['replay']", "no trace in workload"),
        ("replay.toml", "run.on=['phone']", "no launches in workload"),
        ("phone.toml", "run.on=['memory']", "no list of programs in workload.apps"),
    ]
    for name, change, reason in cases:
        out = folder / "refused"
        here("run", folder / name, "--set", change, "-o", out).refuses(reason)
        assert not out.exists()


def test_two_worlds_share_one_table_and_one_report(folder: Path) -> None:
    """One file with launches on the phone and a replay of a trace, which needs no kernel."""
    (folder / "both.toml").write_text(
        "[machine]\nbase = 'nexus-5'\n[[design]]\nswap = ['zram:size=256MiB', 'nvm-direct:size=256MiB']\n"
        "[workload]\ntrace = 'djpeg.slt'\nlaunches = 'zipf:launches=24'\n[run]\non = ['phone', 'replay']\nseeds = 2\n"
        "[run.replay]\n"
    )
    done = here("run", folder / "both.toml", "--set", "design.1.policy=clock", "--set", "design.2.policy=clock", "-o", folder / "out")
    assert done.code == 0, done.err
    assert "phone (simulated)" in done.out and "replay (simulated)" in done.out
    rows = json.loads((folder / "out" / "summary.json").read_text())["rows"]
    assert {row["world"] for row in rows} == {"phone", "replay"} and len(rows) == 4
