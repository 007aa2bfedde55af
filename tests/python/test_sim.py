"""The simulated phone and `trace gen` by command line: keys, determinism, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import here

#: A short run: few launches, one seed, two designs.
SHORT = ["--set", "workload.launches=zipf:launches=25", "--set", "run.seeds=1"]
TWO = "design=[{name='van',swap='flash'},{name='a2s',swap='nvm-direct',app_policy='a2s'}]"


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = here("run", "a2s-large", *SHORT, "--set", TWO, "--json", *arguments).document
    return found


def test_a_short_run_has_every_key_and_the_same_bytes_on_two_threads() -> None:
    found = document("--jobs", "1")
    assert found == document("--jobs", "2")
    assert found["schema"] == 2 and [row["design"] for row in found["rows"]] == ["van", "a2s"]
    for row in found["rows"]:
        launches = row["launches"]
        assert (row["world"], row["kind"]) == ("phone", "simulated")
        assert launches["count"] == launches["cold"] + launches["resumes"] == sum(launches["ux"].values()) == 25
        assert launches["kills"] >= 0
        for key in ("swap_in_bytes", "swap_out_bytes", "copied_pages", "direct_reads", "refaults", "nvm_write_bytes"):
            assert row["paging"][key] >= 0
        assert set(launches["delay_ms"]) == {"n", "mean", "p50", "p95", "mean_interval", "p50_interval", "p95_interval"}
        assert set(row["phone"]["entry_lifetime_s"]) == {"p10", "p50", "p90", "below", "never"}
        assert row["time"]["cpu_user_ns"] > 0 and row["time"]["cpu_system_ns"] >= 0


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    backwards = tmp_path / "l.csv"
    backwards.write_text("seq,t_s,app,category,fg_s\n0,5,A,,1\n1,4,B,,1\n")
    cases = [
        (["nowhere.toml"], "nowhere.toml"),
        (["machine.drm=4MiB"], "unknown key 'drm'; expected 'dram'"),
        (["machine.dram=100MiB"], "machine.dram"),
        (["workload.apps={medium={anon='900MiB'}}", "machine.dram=700MiB"], "one app's launch set"),
        (["workload.apps={medium={anonn='9MiB'}}"], "unknown key 'anonn'; expected 'anon' (did you mean that?)"),
        (["workload.launches=larg"], "did you mean"),
        ([f"workload.launches={backwards}"], "line 3: t_s = 4 after 5"),
        (["workload.launches=round-robin:app=5"], "did you mean"),
        (["run.seeds=0"], "run.seeds"),
        (["run.seeds"], "--set"),
        (["design=[]"], "no design"),
        (["machine.battery_wh=-1"], "machine.battery_wh"),
        (["workload.apps={kinds='lx'}"], "unknown kind of app 'lx'"),
        (["design=[{name='a',swap='zrma'}]"], "did you mean"),
        (["workload.launches=zipf:launches=5", "machine.dram=700MiB"], "machine.dram"),
        (["workload.apps={by_name={app1='heavy'}}"], "which is launched; expected a kind for each app"),
        (["workload.apps={kinds='mix3'}"], "did you mean"),
        (["design=[{name='a',swap='flash:size=100TiB'}]"], "a swap area that its device can hold"),
        (["run.seeds=1", "run.seeds=2"], "--set: 'run.seeds' twice"),
        (["machine.dram=900MiB", "machine={}"], "one inside the other"),
    ]
    for changes, said in cases:
        words = changes if changes == ["nowhere.toml"] else ["a2s-large", *(word for change in changes for word in ("--set", change))]
        here("run", *words).refuses(said)
    here("trace", "gen", "larg", "-o", tmp_path / "o.slt").refuses("did you mean")
    assert not (tmp_path / "o.slt").exists()


def test_kinds_and_workloads_are_listed() -> None:
    rows = {row["key"]: row for row in here("list", "apps", "--json").document["apps"]}
    assert {"light", "game", "browser", "gaming", "multimedia", "news", "shopping", "social"} <= set(rows)
    # DR.Swap, Table III: Chrome, Flipboard, TTPod, Instagram, Angry Birds.
    assert rows["mix1"]["what"] == "workload: browser news multimedia social gaming" and "Table III" in rows["mix1"]["source"]
    assert [name for name in rows if name.startswith("scenario")] == [f"scenario{number}" for number in range(1, 5)]


@pytest.mark.long
def test_the_demo_replays_traces_and_plays_the_phone(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    *traces, phone = here("demo", "-o", folder, "--json").document["runs"]
    assert len(traces) == 3 and all(one["rows"] for one in traces)
    assert [one["design"] for one in phone["rows"]] == ["no swap", "vanilla flash swap", "A2S", "A2S, nvm-direct"]
    page = (folder / "report.html").read_text()
    assert "demo: 3 traces, a simulated phone" in page and "Simulated phone" in page


def test_generated_launches_are_the_same_for_a_seed(tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("1.slt", "2.slt", "3.slt"))
    for path, seed in ((one, 7), (two, 7), (other, 8)):
        assert here("trace", "gen", "large", "--seed", seed, "-o", path).code == 0
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()
    reuse = here("trace", "analyze", one, "--json").document["reuse"]
    assert 25 < reuse["unique_apps"] < 50 and 4 < reuse["average_stack_distance"] < 8 < reuse["average_launch_distance"]


APPS = Path(__file__).resolve().parents[3] / "shared" / "data" / "apps"


@pytest.mark.skipif(not APPS.is_dir(), reason="the recorded launches are not beside the checkout")
def test_the_windows_of_real_launches_have_the_figures_of_their_description() -> None:
    """The two recorded lists have 13 and 23 apps, and 1.83 and 4.56 distinct apps between two
    launches of an app.

    With 16 cached apps, 8.3 % of the first user's launches miss.
    """
    for name, apps, distance in (("apps256_small_vh1", 13, 1.83), ("apps256_medium_vh2", 23, 4.56)):
        reuse = here("trace", "analyze", APPS / f"{name}.csv", "--json").document["reuse"]
        assert (reuse["unique_apps"], round(reuse["average_stack_distance"], 2)) == (apps, distance)
    cold = here("trace", "analyze", APPS / "apps_vh1_full.csv", "--json").document["reuse"]["cold_starts_by_live_apps"]
    assert round(cold[16] / cold[0], 3) == 0.083


def test_recorded_launches_are_identified_by_their_content(tmp_path: Path) -> None:
    def identity(name: str, second: str) -> str:
        file = tmp_path / name
        file.write_text(f"seq,t_s,app,category,fg_s\n1,0,a,x,1\n2,5,{second},x,1\n")
        words = ["--set", f"workload.launches={file}", "--set", "run.seeds=1", "--set", TWO]
        inputs = here("run", "a2s-large", *words, "--json").document["inputs"]
        return next(str(one["content_hash"]) for one in inputs if one["path"] == str(file))

    assert identity("one.csv", "b") == identity("two.csv", "b") != identity("three.csv", "a")
