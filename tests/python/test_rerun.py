"""`swaplab rerun` confirms equal rows and notices differences; `swaplab new` writes files that can
be run.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import documents as d
import swaplab as sl
from command import csv_trace, here
from swaplab.analysis.rerun import agreements
from swaplab.core.model import Document, SeedRow


def test_rerun_of_a_replay(tmp_path: Path) -> None:
    trace = csv_trace(tmp_path / "t.csv")
    run = tmp_path / "run"
    assert here("replay", trace, "--policy", "lru,clock", "--memory", "50%", "-o", run).code == 0
    done = here("rerun", run)
    assert (done.code, done.out, done.err) == (0, "2 of 2 rows identical\n", "")
    document = json.loads((run / "summary.json").read_text())
    document["rows"][0]["paging"]["faults"] += 1
    (run / "summary.json").write_text(json.dumps(document))
    done = here("rerun", run)
    assert done.code == 1 and "differs: replay, lru: paging" in done.out and "1 of 2 rows identical" in done.out
    found = here("rerun", run, "--json")
    assert found.code == 1 and [row["agrees"] for row in json.loads(found.out)["rows"]] == [False, True]
    trace.unlink()
    here("rerun", run).refuses("t.csv")


def test_a_replaced_trace_file_is_noticed(tmp_path: Path) -> None:
    trace = csv_trace(tmp_path / "t.csv")
    run = tmp_path / "run"
    assert here("replay", trace, "--memory", "50%", "-o", run).code == 0
    csv_trace(trace, 501)
    done = here("rerun", run)
    assert done.code == 1 and "differs: replay, clock: paging" in done.out


def test_rerun_of_a_sweep(tmp_path: Path) -> None:
    file, run = tmp_path / "e.toml", tmp_path / "run"
    assert here("new", file, "--preset", "sweep").code == 0
    fewer = ("--set", "vary={'machine.dram'=['10%','20%']}")
    assert here("run", file, *fewer, "--jobs", "1", "-o", run).code == 0
    # The manifest contains the experiment, so its file is not needed.
    file.unlink()
    # Three policies at two sizes.
    assert here("rerun", run).out == "6 of 6 rows identical\n"


def test_rerun_of_a_simulated_phone_also_from_another_folder(tmp_path: Path) -> None:
    file, run = tmp_path / "e.toml", tmp_path / "run"
    file.write_text(
        "[machine]\nbase = 'nexus-5'\n[[design]]\nname = 'zram'\nswap = 'zram:size=64MiB'\n"
        "[workload]\nlaunches = 'zipf:launches=20'\n[run]\nseed = 5\nseeds = 2\n"
    )
    assert here("run", file, "-o", run).code == 0
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["experiment"]["machine"]["dram"] == "1536MiB" and manifest["experiment"]["run"]["seed"] == 5
    assert {"swaplab", "python", "polars"} <= manifest["versions"].keys() and "rows" not in manifest
    assert (run / "launches.parquet").is_file()
    file.unlink()
    moved = tmp_path / "moved"
    shutil.move(run, moved)
    done = here("rerun", moved)
    assert (done.code, done.out) == (0, "1 of 1 rows identical\n"), done


def test_rerun_refuses_an_invalid_run_folder(tmp_path: Path) -> None:
    here("rerun", tmp_path).refuses("expected a run folder")
    here("rerun", tmp_path / "none").refuses("none")
    page = sl.Trace.bundled("djpeg").replay("lru", "50%").save(tmp_path / "api")
    # A folder that Python saved is a valid run folder.
    assert here("rerun", page.parent).code == 0
    manifest = json.loads((page.parent / "manifest.json").read_text())
    (page.parent / "manifest.json").write_text(json.dumps(manifest | {"schema": 1}))
    (page.parent / "summary.json").write_text(json.dumps({"schema": 1, "kind": "simulated", "points": []}))
    here("rerun", page.parent).refuses("schema 1", "run the experiment again")


def test_measurements_agree_if_intervals_and_ranges_meet() -> None:
    def measured(mean: float, half: float, kills: tuple[float, ...]) -> Document:
        seeds = [SeedRow(seed=at, figures={"launches.kills": count}) for at, count in enumerate(kills)]
        return d.document([d.kernel_row("zram", mean, by_seed=seeds, interval={"launches.delay_ms.mean": (mean - half, mean + half)})])

    def why(before: Document, after: Document) -> str:
        [found] = agreements(before, after)
        assert found.agrees == (not found.why)
        return found.why

    then = measured(100, 5, (1, 3))
    assert why(then, measured(109, 5, (3, 4))) == ""
    assert why(then, measured(111, 5, (1, 3))) == "mean delay 95.0 to 105.0 ms then, 106.0 to 116.0 now"
    assert why(measured(111, 5, (1, 3)), then) == "mean delay 106.0 to 116.0 ms then, 95.0 to 105.0 now"
    assert why(then, measured(100, 5, (4, 6))) == "1 to 3 kills then, 4 to 6 now"
    assert why(measured(100, 5, (4, 6)), then) == "4 to 6 kills then, 1 to 3 now"
    # Without kills in one of them there is nothing to compare.
    assert why(then, measured(100, 5, ())) == why(measured(100, 5, ()), then) == ""
