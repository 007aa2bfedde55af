"""What a simulated phone leaves: tables that agree with the document, the waterfall of a launch, intervals, the page in a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import browser
import polars as pl
import pytest
import swaplab as sl
from swaplab import BadInput, cli, report
from swaplab.cli.explain import PARTS, waterfall
from swaplab.model import sim
from swaplab.run_folder import TABLES, read_run, read_table

SWAPLAB = Path(sys.executable).parent / "swaplab"
SCHEMES = [
    {"name": "none", "swap": "none"},
    {"name": "vanilla, flash", "swap": "flash:size=256MiB"},
    {"name": "a2s", "swap": "nvm-direct:size=256MiB", "app_policy": "a2s"},
]
LAUNCHES, SEEDS = 60, 2
#: A second's run with kills, swap in both directions, Direct Read, and owners that die before their entries are read.
TABLE = {
    "launches": f"zipf:apps=30,alpha=1.3,launches={LAUNCHES}",
    "seeds": SEEDS,
    "phone": {"dram_mib": 1000},
    "apps": {"system": {"anon_mib": 80, "file_mib": 100, "graphics_mib": 20, "cold_ms": 0, "resume_ms": 0}},
    "schemes": SCHEMES,
}


def swaplab(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SWAPLAB, *map(str, arguments)], capture_output=True, text=True, check=False)


def write_toml(path: Path) -> None:
    """The experiment as a file."""

    def said(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key} = {said(one)}" for key, one in value.items()) + "}"
        return f"[{', '.join(map(said, value))}]" if isinstance(value, list) else json.dumps(value)

    path.write_text("seed = 5\n[sim]\n" + "".join(f"{key} = {said(value)}\n" for key, value in TABLE.items()))


@pytest.fixture
def explain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`swaplab explain` in this process: its exit code, what it printed, what it said on stderr."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["swaplab", "explain", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder, written on one thread."""
    folder = tmp_path_factory.mktemp("phone")
    write_toml(folder / "phone.toml")
    done = swaplab("sim", folder / "phone.toml", "--jobs", "1", "--run", folder / "runs", "--json")
    assert done.returncode == 0, done.stderr
    (place,) = (folder / "runs").iterdir()
    assert json.loads(done.stdout) == read_run(place)
    return place


def test_the_folder_is_whole_and_the_same_bytes_on_two_threads(run: Path, tmp_path: Path) -> None:
    names = {path.name for path in run.iterdir()}
    assert names == {"manifest.json", "summary.json", "report.html", "report.pftrace", *(f"{table}.parquet" for table in TABLES)}
    experiment = run.parent.parent / "phone.toml"
    assert swaplab("sim", experiment, "--jobs", "2", "--run", tmp_path).returncode == 0
    (other,) = tmp_path.iterdir()
    for name in names - {"manifest.json", "report.html"}:
        assert (run / name).read_bytes() == (other / name).read_bytes(), name
    again = swaplab("rerun", run)
    assert again.returncode == 0 and "swap_entries.parquet" in again.stdout, again.stdout + again.stderr


def test_tables_agree_with_the_document(run: Path) -> None:
    document = read_run(run)
    tables = {name: read_table(run, name) for name in TABLES}
    launches, entries, kills = (tables[name] for name in ("launches", "swap_entries", "kills"))
    assert launches.height == len(SCHEMES) * SEEDS * LAUNCHES and kills.height > 0 and entries.height > 0
    # A launch is its own work and every part of its waiting, nothing else.
    assert launches.filter(pl.col("ready_ns") != pl.sum_horizontal(*PARTS)).height == 0
    assert entries.filter((pl.col("died_ns") < pl.col("born_ns")) | (pl.col("freed_ns") < pl.col("born_ns"))).height == 0
    # Whose owner died holds no slot any more.
    assert entries.filter(pl.col("died_ns").is_not_null() & pl.col("freed_ns").is_null()).height == 0
    for row in document["schemes"]:
        of = {name: table.filter(scheme=row["name"]) for name, table in tables.items()}
        cold = of["launches"].filter(start="cold")
        assert cold.height == SEEDS * row["cold_starts"]
        assert of["launches"]["ready_ns"].mean() == pytest.approx(row["launch_ms"]["mean"] * 1e6)
        assert of["kills"].height == SEEDS * row["kills"] == pytest.approx(SEEDS * sum(app["kills"] for app in row["apps"]))
        traffic = of["traffic"]
        assert 4096 * int(traffic["swapped_out"].sum()) == pytest.approx(SEEDS * row["swap_out_bytes"])
        assert 4096 * int(traffic["swapped_in"].sum()) == pytest.approx(SEEDS * row["swap_in_bytes"])
        assert int(traffic["direct_reads"].sum()) == pytest.approx(SEEDS * row["direct_reads"])
        assert sum(app["swap_out_bytes"] for app in row["apps"]) == pytest.approx(row["swap_out_bytes"])
        for part, joules in row["energy_j"].items():
            assert of["energy"].filter(part=part)["joules"].sum() == pytest.approx(SEEDS * joules), part
        assert row["energy_j"]["total"] == pytest.approx(sum(value for part, value in row["energy_j"].items() if part != "total"))
        days = of["timeline"].group_by("seed").agg(pl.col("at_ns").max())["at_ns"].mean() / 86_400e9  # type: ignore[operator]
        assert sum(row["a_day"]["kills"].values()) == pytest.approx(row["kills"] / days, rel=1e-3)
        if of["swap_entries"].height:
            unread = of["swap_entries"].filter(pl.col("reads") == 0).height / of["swap_entries"].height
            assert unread == pytest.approx(row["wasted_write_ratio"])
            dead = sorted((of["swap_entries"]["died_ns"] - of["swap_entries"]["born_ns"]).drop_nulls().to_list())
            curve = [life for life in row["cdf"]["entry_lifetime_s"] if life is not None]
            assert len(curve) / 101 == pytest.approx(len(dead) / of["swap_entries"].height, abs=0.011)
            assert not curve or curve[0] == pytest.approx(dead[0] / 1e9, abs=1e-3)


def test_intervals_cluster_by_user(tmp_path: Path) -> None:
    """Seeds of a generator are users; a recorded sequence is one user, whatever the seeds."""
    experiment = sl.Experiment(sim=TABLE | {"schemes": SCHEMES[:1]}).resolved()
    (row,) = sim.run(experiment)["schemes"]
    for what in ("launch_ms", "cold_ms"):
        low, high = row[what]["mean_interval"]
        assert low <= row[what]["mean"] <= high
    per_seed = [seed["resumes"] for seed in row["seeds"]]
    low, high = row["intervals"]["resumes"]
    assert min(per_seed) <= low <= row["resumes"] <= high <= max(per_seed)
    recorded = tmp_path / "l.csv"
    recorded.write_text("seq,t_s,app,category,fg_s\n" + "".join(f"{at},{at * 9},App {at % 4},,5\n" for at in range(12)))
    experiment["sim"]["launches"] = str(recorded)
    document = sim.run(experiment)
    (row,) = document["schemes"]
    assert row["launch_ms"]["mean_interval"] is None and row["intervals"]["resumes"] is None
    assert [app["app"] for app in row["apps"]] == ["App 0", "App 1", "App 2", "App 3", "system"] and not document["premise_built"]


def test_a_waterfall_by_hand() -> None:
    row = dict.fromkeys(PARTS, 0) | {"cpu_ns": 6_000_000, "file_read_ns": 3_000_000, "direct_reclaim_ns": 1_000_000, "ready_ns": 10_000_000}
    row |= {"scheme": "s", "start": "cold", "faults": 9, "swapped_in": 0, "file_reads": 64}
    found = waterfall(row)
    told = [(step["part"], step["from_ms"], step["ms"], step["share"]) for step in found["steps"]]
    assert told == [("cpu", 0, 6, 0.6), ("file_read", 6, 3, 0.3), ("direct_reclaim", 9, 1, 0.1)] and found["ready_ms"] == 10


def test_explain_tells_every_scheme_or_one(run: Path, explain: Callable[..., tuple[int, str, str]]) -> None:
    found = json.loads(explain(run, "40", "--json")[1])
    assert [one["name"] for one in found["schemes"]] == ["none", "vanilla, flash", "a2s"]
    assert (found["launch"], found["seed"], found["kind"]) == (40, 5, "simulated")
    for one in found["schemes"]:
        assert sum(step["ms"] for step in one["steps"]) == pytest.approx(one["ready_ms"])
        assert one["steps"][0]["part"] == "cpu"
    one = json.loads(explain(run, "40", "--scheme", "vanilla, flash", "--seed", "6", "--json")[1])
    assert [scheme["name"] for scheme in one["schemes"]] == ["vanilla, flash"] and one["seed"] == 6
    text = explain(run, "1")[1]
    assert "launch 1: " in text and "the app's own work" in text and "file reads" in text


def test_bad_input_of_explain_is_one_line(run: Path, tmp_path: Path, explain: Callable[..., tuple[int, str, str]]) -> None:
    replayed = tmp_path / "replay"
    replayed.mkdir()
    (replayed / "summary.json").write_text('{"schema": 1, "kind": "simulated", "points": []}')
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "summary.json").write_bytes((run / "summary.json").read_bytes())
    (torn / "launches.parquet").write_bytes((run / "launches.parquet").read_bytes()[:100])
    (torn / "kills.parquet").write_bytes((run / "kills.parquet").read_bytes())
    cases = [
        ([run, "61"], "LAUNCH 61: not in"),
        ([run, "0"], "expected 1 to 60"),
        ([run, "-3"], ""),
        ([run, "app3"], ""),
        ([run, "1", "--scheme", "zram"], "--scheme zram: not in"),
        ([run, "1", "--seed", "4"], "expected one of: 5, 6"),
        ([tmp_path / "nowhere", "1"], "nowhere"),
        ([replayed, "1"], "expected a run folder of 'swaplab sim --run'"),
        ([torn, "1"], "launches.parquet"),
        ([run / "summary.json", "1"], "expected a run folder"),
    ]
    for arguments, said in cases:
        code, printed, told = explain(*arguments)
        assert (code, printed) == (2, "") and said in told, (arguments, told)
        assert not said or told.count("\n") == 1, told
    with pytest.raises(BadInput, match="kills"):
        (torn / "kills.parquet").unlink()
        read_table(torn, "kills")


def test_a_folder_that_is_no_folder_leaves_nothing(tmp_path: Path) -> None:
    write_toml(tmp_path / "phone.toml")
    (tmp_path / "file").write_text("")
    short = ["--set", "sim.seeds=1", "--set", "sim.launches=zipf:launches=3"]
    done = swaplab("sim", tmp_path / "phone.toml", *short, "--run", tmp_path / "file")
    assert done.returncode == 2 and "expected a folder" in done.stderr and done.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"phone.toml", "file"}


def test_the_section(run: Path) -> None:
    document = read_run(run)
    (section,) = report.sections(document)
    keys = [figure.key.removeprefix("run-") for figure in section.figures]
    assert keys == ["launch-cdf", "ux", "memory", "bytes", "traffic", "entry-lifetime", "wasted", "energy"]
    verdict, every, apps = section.tables
    assert [row[0].text for row in verdict.rows] == ["none", "vanilla, flash", "a2s"] and len(every.rows) == 3
    assert {row[0].text for row in apps.rows} == {app["app"] for app in document["schemes"][0]["apps"]}
    curve = section.figures[0].data.filter(scheme="none", start="cold start")
    assert curve.height == 101 and curve["ms"].is_sorted() and curve["share"][-1] == 1
    memory = section.figures[2].data.filter(scheme="none").drop("scheme", "at_s").sum_horizontal()
    assert memory.min() == pytest.approx(memory.max()) == pytest.approx(1000 - 193)


def test_the_python_api_has_frames_and_figures(run: Path) -> None:
    result = sl.Result.open(run)
    assert result.launches().height == len(SCHEMES) * SEEDS * LAUNCHES and result.summary()["name"].to_list() == [
        "none",
        "vanilla, flash",
        "a2s",
    ]
    assert result.plot.launch_cdf() is not None and "launch-cdf" not in dir(result.plot)
    fresh = sl.Experiment(sim=TABLE | {"seeds": 1, "schemes": SCHEMES[:1]}, seed=5).run(jobs=1)
    same = result.launches().filter(scheme="none", seed=5)
    assert fresh.launches().equals(same)


@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")
def test_the_page_in_a_browser(run: Path) -> None:
    marks = (
        "f.querySelectorAll('.wide svg [role=graphics-symbol][aria-label]:not(.role-axis):not(.role-legend):not(.role-title-text)').length"
    )
    kills = read_table(run, "kills").filter(seed=5).height
    with browser.Page(run / "report.html") as page:
        assert page.value("document.querySelector('.badge strong').textContent") == "simulated"
        titles: list[str] = page.value("[...document.querySelectorAll('figure')].map(f => f.id)")
        drawn: list[int] = page.value(f"[...document.querySelectorAll('figure')].map(f => {marks})")
        found: dict[str, Any] = dict(zip(titles, drawn, strict=True))
        (memory,) = (count for key, count in found.items() if key.endswith("-memory"))
        assert memory == kills and all(count >= 2 for count in drawn), found
        assert "kills a day" in page.value("document.querySelector('table').textContent")
        page.value("document.querySelectorAll('figure')[2].focus()")
        page.press("ArrowRight")
        assert "killed at" in page.value("document.getElementById('tip').textContent")
        assert (page.console, page.requests) == ([], [])
    with browser.Page(run / "report.html", width=390, dark=True) as page:
        assert page.value("document.documentElement.scrollWidth") == 390
        assert (page.console, page.requests) == ([], [])
