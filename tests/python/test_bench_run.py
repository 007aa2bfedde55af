"""What a bench leaves: tables, a trace for Perfetto, a manifest that runs again; of a sample document and of the simulated counterpart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from swaplab import BadInput, Experiment
from swaplab.live import again
from swaplab.live.bench import spec
from swaplab.live.bench.tables import tables
from swaplab.model import bench
from swaplab.run_folder import read_manifest, write_run
from swaplab.sweep.folder import runner
from swaplab.sweep.runner import in_this_process

SWAPLAB = [str(Path(sys.executable).parent / "swaplab")]
MS = 1_000_000
BENCH = """seed = 7
[bench]
memory = "48MiB"
swap = ["16MiB", "32MiB"]
schemes = ["none", "zram"]
rounds = 2
warm_up_rounds = 0
apps = [{ use = "phone-app", name = "mail", set = { footprint = "24MiB" } }, { use = "my.toml", set = { footprint = "36MiB" } }]
"""


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SWAPLAB, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An experiment whose second app lies beside it."""
    text = (Path(spec.__file__).parents[1] / "apps" / "phone-app.toml").read_text()
    (tmp_path / "my.toml").write_text(text.replace('name = "phone-app"', 'name = "maps"'))
    (tmp_path / "exp.toml").write_text(BENCH)
    return tmp_path / "exp.toml"


def visit(at_ms: int, app: str, what: str, ms: float, repetition: int = 0, warm_up: bool = False) -> dict[str, Any]:
    counts = {"swap_in_pages": 3, "swap_out_pages": 5, "major_faults": 2, "alive": 1, "direct_reads": 0}
    start = {"repetition": repetition, "round": 0, "warm_up": warm_up, "app": app, "what": what, "ms": ms}
    return start | counts | {"at_ns": at_ms * MS}


def moment(at_ms: int, anon: int, stall_us: int, repetition: int = 0) -> dict[str, Any]:
    sizes = {"anon_bytes": anon, "file_bytes": 4096, "swap_bytes": 0, "pool_bytes": 8192, "live": 1}
    totals = {"swap_in_bytes": 0, "swap_out_bytes": 0, "psi_some_us": stall_us, "psi_full_us": 0, "kernel_kills": 0}
    return {"repetition": repetition, "at_ns": at_ms * MS} | sizes | totals


def document(p50: float = 40.0, killed: tuple[int, ...] = (1, 1)) -> dict[str, Any]:
    """Two visits of the first repetition, one of the second, under one configuration."""
    times = {
        "mean": p50,
        "p50": p50,
        "p95": p50,
        "p50_interval": [p50 - 2, p50 + 2],
        "mean_interval": None,
        "by_app": {"mail": p50},
        "n": 3,
    }
    row = {
        "name": "zram",
        "kind": "measured",
        "swap_bytes": 16 << 20,
        "app_policy": "none",
        **dict.fromkeys(("launch_ms", "switch_ms", "cold_ms"), times),
        "kills": sum(killed) / len(killed),
        "killed": list(killed),
        "memory": {"limit_bytes": 48 << 20, "pool_bytes": 8192, "medium_bytes": 0, "total_bytes": (48 << 20) + 8192},
        "visits": [visit(0, "mail", "launch", 30.5, warm_up=True), visit(50, "mail", "switch", 4.25), visit(1, "mail", "launch", 31, 1)],
        "timeline": [moment(31, 100, 0), moment(55, 200, 1500), moment(32, 100, 0, 1)],
        "kill_events": [{"repetition": 0, "at_ns": 60 * MS, "app": "mail", "reason": "LOW_MEM_AND_SWAP", "freed_bytes": 77}],
    }
    experiment = json.loads(
        json.dumps(Experiment(bench={"memory": "48MiB", "swap": "16MiB", "schemes": "zram", "apps": []}).config.model_dump())
    )
    return {"schema": 1, "kind": "measured", "target": "local", "user": "nobody", "experiment": experiment, "schemes": [row]}


def test_a_row_a_visit_by_hand() -> None:
    found = tables(document())
    launches = found["launches"]
    assert launches.columns[:6] == ["scheme", "repetition", "at_ns", "app", "start", "ready_ns"]
    assert launches.row(1, named=True) | {"scheme": "", "round": 0} == {
        **{"scheme": "", "repetition": 0, "at_ns": 50 * MS, "app": "mail", "start": "resume", "ready_ns": 4_250_000, "round": 0},
        **{"warm_up": False, "swap_in_pages": 3, "swap_out_pages": 5, "major_faults": 2, "alive": 1, "direct_reads": 0},
    }
    assert launches["scheme"].unique().to_list() == ["zram 16 MiB"] and launches["start"].to_list() == ["cold", "resume", "cold"]
    assert found["kills"].rows() == [("zram 16 MiB", 0, 60 * MS, "mail", "LOW_MEM_AND_SWAP", 77)]
    assert found["timeline"]["anon_bytes"].to_list() == [100, 200, 100]
    none = document()
    none["schemes"][0] |= {"kill_events": []}
    assert tables(none)["kills"].height == 0
    none["schemes"][0]["visits"][0]["ms"] = None  # user-mode Linux: no times
    assert tables(none) == {}


def test_a_bench_decodes_with_perfettos_own_classes(tmp_path: Path) -> None:
    pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="the package perfetto is not installed")
    run = write_run(document(), "b", tmp_path, 7, tables(document())).parent
    done = command("report", run, "--perfetto", tmp_path / "b.pftrace")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.pftrace").read_bytes() == (run / "report.pftrace").read_bytes()
    trace = pb.Trace.FromString((run / "report.pftrace").read_bytes())
    named = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    assert [d.name for d in named.values() if not d.HasField("parent_uuid")] == ["zram 16 MiB, repetition 0"]
    events = [(p.timestamp, named[p.track_event.track_uuid].name, p.track_event) for p in trace.packet if p.HasField("track_event")]
    slices = [(at, event.name) for at, track, event in events if track == "launches and switches"]
    assert slices == [(0, "launch mail"), (30_500_000, ""), (50 * MS, "switch mail"), (54_250_000, "")]
    counters = {name: [(at, e.counter_value) for at, track, e in events if track == name] for name in (d.name for d in named.values())}
    assert counters["apps, anonymous"] == [(31 * MS, 100), (55 * MS, 200)]
    assert counters["memory stall (PSI some)"] == [(31 * MS, 0), (55 * MS, 1_500_000)]
    assert [(at, e.name, list(e.categories)) for at, track, e in events if track == "kills"] == [
        (60 * MS, "kill mail", ["LOW_MEM_AND_SWAP"])
    ]


def test_two_measurements_are_compared_by_intervals_and_kills() -> None:
    [row] = again.beside(document(40), document(43))
    assert row["agree"] and row["launch_p50_ms"] == {"then": 40, "now": 43}
    [row] = again.beside(document(40), document(45))
    assert not row["agree"]
    [row] = again.beside(document(40, (1, 2)), document(40, (3, 5)))
    assert not row["agree"] and row["kills"] == {"then": 1.5, "now": 4}
    other = document()
    other["schemes"][0]["swap_bytes"] = 0
    with pytest.raises(BadInput, match="other configurations"):
        again.beside(document(), other)


def test_apps_lie_beside_the_file_and_their_content_is_what_counts(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    wanted = spec.dumped(spec.load_experiment(str(file)))
    assert [app.name for app in spec.load_apps(spec.table(spec.load_experiment(str(file))), "x")] == ["mail", "maps"]
    assert list(bench.inputs(wanted)) == ["phone-app", str(tmp_path / "my.toml")]
    before = bench.identity(wanted)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "my.toml").write_text((tmp_path / "my.toml").read_text())
    (tmp_path / "other" / "exp.toml").write_text(BENCH)
    assert bench.identity(spec.dumped(spec.load_experiment(str(tmp_path / "other" / "exp.toml")))) == before
    (tmp_path / "my.toml").write_text((tmp_path / "my.toml").read_text() + "#\n")
    assert bench.identity(wanted) != before


def test_the_simulated_counterpart_is_run_again_to_the_same_bytes(file: Path, tmp_path: Path) -> None:
    done = command("sim", file, "--set", "bench.swappiness=100", "--json", "--run", tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["schemes"]
    assert [(row["name"], row["swap_bytes"] >> 20) for row in rows] == [("none", 0), ("zram", 16), ("zram", 32)]
    [run] = (tmp_path / "runs").iterdir()
    manifest = read_manifest(run)
    assert manifest is not None and manifest["experiment"][0]["bench"]["swappiness"] == 100 and manifest["seed"] == 7
    assert {Path(one["path"]).name for one in manifest["inputs"]} == {"phone-app", "my.toml"}
    assert command("rerun", run).stdout == "identical: summary.json\n"


def test_points_of_a_bench_never_share_the_machine(file: Path, tmp_path: Path) -> None:
    assert runner("local", 8, parallel=False) is in_this_process
    file.write_text(BENCH + '[sweep.vary]\n"bench.swappiness" = [60, 100]\n')
    done = command("sweep", file, "--cluster", "tcp://127.0.0.1:1", "-o", tmp_path / "out")
    assert done.returncode == 2 and "one after the other" in done.stderr and not (tmp_path / "out").exists()
    wrong = command("sweep", file, "--set", "sweep.vary={'bench.swapiness'=[1]}", "-o", tmp_path / "out")
    assert wrong.returncode == 2 and "unknown key 'swapiness'; expected 'swappiness'" in wrong.stderr


def test_rows_of_a_sweep_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "run", lambda experiment: document())
    [(index, [row])] = bench.rows([(3, {})])
    assert index == 3 and row["memory_total_bytes"] == (48 << 20) + 8192 and row["switch_p50_ms"] == 40 and row["name"] == "zram"
    assert pl.DataFrame([row]).height == 1
    assert set(bench.objectives({})) <= row.keys()
