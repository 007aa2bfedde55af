"""Launch lists with custom columns, and the advice on a small list."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import here
from documents import document, phone_row
from swaplab.analysis import advise as advice
from swaplab.core import experiment as experiments
from swaplab.core import launch_list
from swaplab.core.errors import BadInput
from swaplab.core.model import Experiment
from swaplab.worlds.result import Options
from swaplab.worlds.run import Outcome

KINDS = ("light", "medium", "heavy", "game")
SIZE, ALGORITHM = "/sys/block/zram0/disksize", "/sys/block/zram0/comp_algorithm"

#: Launches of two apps, with dates.
LIST = "when,package\n2026-01-01T10:00:00Z,maps\n2026-01-01T10:01:00Z,mail\n2026-01-01T11:00:00Z,maps\n"


def converted(tmp_path: Path, text: str, columns: str, first: int | None = None) -> str:
    source, target = tmp_path / "mine.csv", tmp_path / "out.csv"
    source.write_text(text)
    launch_list.convert(source, target, launch_list.parse_columns(columns), first)
    return target.read_text()


def test_columns_are_chosen_by_name_dates_become_seconds_and_foreground_lasts_until_the_next_launch(tmp_path: Path) -> None:
    found = converted(tmp_path, LIST, "time=when,app=package")
    assert found.splitlines() == [
        "seq,t_s,app,category,fg_s",
        "0,0.000,maps,,60.000",
        "1,60.000,mail,,300.000",
        "2,3600.000,maps,,300.000",
    ]
    assert converted(tmp_path, LIST, "time=when,app=package", first=1).count("\n") == 2


def test_a_list_in_swaplabs_format_needs_no_column_names_and_is_sorted(tmp_path: Path) -> None:
    found = converted(tmp_path, "seq,t_s,app,category,fg_s\n1,5,b,x,2\n0,3,a,y,1.5\n", "")
    assert found.splitlines()[1:] == ["0,0.000,a,y,1.500", "1,2.000,b,x,2.000"]
    # A time in front that is negative counts as none. A part that is empty names no column.
    found = converted(tmp_path, "when,package,fg_s\n1,a,0.5\n2,b,-3\n3,c,\n", "time=when,,app=package")
    assert [line.rpartition(",")[2] for line in found.splitlines()[1:]] == ["0.500", "0.000", "300.000"]
    # An app's name may be a number, with its zeros.
    assert [line.split(",")[2] for line in converted(tmp_path, "t_s,app\n1,007\n2,7\n", "").splitlines()[1:]] == ["007", "7"]


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        (LIST, "", "line 1: no column 't_s'; expected --columns time= with one of: when, package"),
        (LIST, "date=when", "--columns 'date=when': expected time=, app=, category=, foreground= and"),
        (LIST, "app=package,time=", "--columns 'time=': expected time=, app=, category=, foreground= and"),
        ("t_s,app\n1,a\nsoon,b\n", "", "mine.csv:3: time 'soon' of app 'b'"),
        (
            "t_s,app\n1700000000,a\n1700000100000,b\n",
            "",
            "mine.csv:3: time '1700000100000' of app 'b'; expected seconds (not milliseconds)",
        ),
        ("t_s,app\n2026-01-01,a\nsoon,b\n", "", "mine.csv:3: time 'soon' of app 'b'"),
        ("t_s,app\n1,a\nnan,b\n", "", "mine.csv:3: time 'nan' of app 'b'"),
        ("t_s,app\n1,a\n-inf,b\n", "", "mine.csv:3: time '-inf' of app 'b'"),
        ("t_s,app\n1,a\n2,\n", "", "mine.csv:3: time '2' of app ''"),
        ("t_s,app\n", "", "no launch in it"),
        ("", "", "mine.csv: empty CSV; expected a CSV of launches with a header"),
    ],
)
def test_an_invalid_launch_list_is_refused_with_its_place(tmp_path: Path, text: str, columns: str, said: str) -> None:
    with pytest.raises(BadInput) as error:
        converted(tmp_path, text, columns)
    assert said in str(error.value)


def settings(*kinds: tuple[str, str], **machine: str) -> list[str]:
    """Return options for a small phone: apps of equal sizes, `system` apart."""
    sets = [f"workload.apps.{kind}={sizes}" for kind, sizes in kinds] + [f"machine.{key}={value}" for key, value in machine.items()]
    return [word for change in sets for word in ("--set", change)]


def small() -> list[str]:
    return settings(*((kind, "{anon='8MiB',file='8MiB',graphics='4MiB'}") for kind in (*KINDS, "system")), dram="2GiB")


def tight() -> list[str]:
    apps = [(kind, "{anon='110MiB',file='40MiB',graphics='20MiB'}") for kind in KINDS]
    system = ("system", "{anon='120MiB',file='90MiB',graphics='20MiB'}")
    # What apps do beside launches is off: it differs between draws of app sizes more than
    # algorithms do.
    quiet = {"background.heap.rate": "0", "background.services.restart": "false", "background.compact": "off"}
    return settings(*apps, system, dram="1GiB", firmware="16MiB", kernel_reserved="64MiB", **quiet)


def launches_of(tmp_path: Path, count: int) -> Path:
    file = tmp_path / "many.csv"
    lines = [f"{60 * number},app{(number * number + number // 5) % 8}" for number in range(count)]
    file.write_text("\n".join(["t_s,app", *lines]) + "\n")
    return file


def test_only_swap_and_compaction_are_tried_if_memory_was_never_tight(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(LIST)
    done = here("advise", file, "--columns", "time=when,app=package", "--draws", "3", *small())
    assert done.code == 0, done.err
    assert "memory was never tight" in done.out and "nothing is advised" in done.out
    assert "the other 12 of 15 designs were not simulated" in done.out
    assert "use_compaction" in done.out
    assert "ro.lmk.thrashing_limit" not in done.out and "over 3 draws of app sizes" in done.out


def test_advice_is_printed_as_a_diff_with_what_is_not_decided(tmp_path: Path) -> None:
    """On a tight phone with zstd, lz4 takes less energy. No property of lmkd makes a difference, as
    nothing is killed.
    """
    now = ("--now", f"{ALGORITHM}=zstd", "--now", "ro.lmk.filecache_min_kb=153600")
    options = ("--goal", "energy.total_j", "--draws", "8", *now, *tight(), "-o", tmp_path / "advice")
    done = here("advise", launches_of(tmp_path, 16), *options)
    assert done.code == 0, done.err
    diff = done.out.partition("--- now\n+++ recommended\n")[2]
    assert f"-{ALGORITHM} = zstd\n+{ALGORITHM} = lz4\n" in diff, done.out
    [without_effect] = [line for line in done.out.splitlines() if line.startswith("no effect on energy, with any value tried: ")]
    assert "ro.lmk.filecache_min_kb" in without_effect and "memory was tight without swap" in done.out
    assert "\nnow: mean launch delay " in done.out
    assert any(line.split()[:3] == ["ro.lmk.filecache_min_kb", "153600", "0"] for line in done.out.splitlines())
    page = (tmp_path / "advice" / "report.html").read_text()
    assert "At a glance" in page and "Memory was tight under" in page


def test_an_interrupted_advice_is_about_the_designs_that_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = []

    def run(wanted: Experiment, options: Options, place: str) -> Outcome:
        groups.append([design.name for design in wanted.design])
        if len(groups) > stop_after:
            raise KeyboardInterrupt
        return Outcome(document([phone_row(design.name, [200.0, 201, 199], swap=design.swap) for design in wanted.design]))

    monkeypatch.setattr("swaplab.cli.advise.run", run)
    stop_after = 2
    done = here("advise", launches_of(tmp_path, 4), "--jobs", "1", "-o", tmp_path / "advice")
    assert done.code == 130 and done.err == "swaplab: advise: stopped after 3 of 15 designs: nothing is known about the others\n"
    assert "note: stopped after 3 of 15 designs" in done.out and "75%" not in done.out and groups[0] == ["now", "no swap"]
    assert "stopped after 3 of 15 designs" in (tmp_path / "advice" / "report.html").read_text()
    groups.clear()
    stop_after = 0
    done = here("advise", launches_of(tmp_path, 4), "-o", tmp_path / "none")
    assert (done.code, done.out, done.err) == (130, "", "swaplab: advise: stopped before two designs were simulated\n")
    assert not (tmp_path / "none").exists()


def test_the_errors_of_a_fit_are_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fitted phone is given by --apps: its machine, its apps, and what is known of their
    errors.
    """
    fitted = experiments.read("a2s-small").model_copy(update={"about": "Fitted to mine.txt: kills +223%."})
    (tmp_path / "phone.toml").write_text(experiments.toml(fitted))
    seen = []

    def run(wanted: Experiment, options: Options, place: str) -> Outcome:
        seen.append(wanted)
        rows = [phone_row(design.name, [200.0, 201, 199], swap=design.swap, is_tight=False, kills=0) for design in wanted.design]
        return Outcome(document(rows).model_copy(update={"experiment": wanted}))

    monkeypatch.setattr("swaplab.cli.advise.run", run)
    done = here("advise", launches_of(tmp_path, 4), "--apps", tmp_path / "phone.toml")
    assert done.code == 0 and "note: Fitted to mine.txt: kills +223%." in done.out, (done.out, done.err)
    assert seen[0].machine.base == fitted.machine.base == "nexus-5"
    done = here("advise", launches_of(tmp_path, 4))
    assert "note: Does zram" not in done.out and seen[-1].machine.base == "android-15"


def test_what_the_phone_has_today_is_the_baseline() -> None:
    base = experiments.read("android-15")
    phone = advice.current(base, [])
    assert phone.design("now").swap == "zram:size=50%,algorithm=lz4" and phone.policy.text == "mglru:swappiness=60"
    given = [f"{SIZE}=75%", "vm.swappiness=100", "ro.lmk.thrashing_limit=30", "swap=tiered:budget=1GiB"]
    phone = advice.current(base, given)
    assert (phone.swap.text, phone.policy.text) == ("tiered:size=75%,algorithm=lz4,budget=1GiB", "mglru:swappiness=100")
    found = advice.candidates(phone)
    assert found["no write-back"].swap.text == "zram:size=75%,algorithm=lz4" and "zram of 75 %" not in found
    assert found["swappiness 60"].policy.text == "mglru:swappiness=60" and found["thrashing_limit 100"].killer.text.endswith("=100")
    found = advice.candidates(advice.current(base, []))
    assert found["recompression"].swap.text == "zram:size=50%,algorithm=lz4,recompress=zstd"
    found = advice.candidates(advice.current(base, ["/sys/block/zram0/recomp_algorithm=zstd"]))
    assert found["no recompression"].swap.text == "zram:size=50%,algorithm=lz4,recompress=off"
    assert found["zstd"].swap.text == "zram:size=50%,algorithm=zstd,recompress=off"
    found = advice.candidates(advice.current(base, ["swap=none"]))
    assert "no swap" not in found and found["zram of 50 %"].swap.text == "zram:size=50%,algorithm=lz4"
    assert experiments.resolve(advice.experiment(base, "large", 3, phone)).design[0].name == "now"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ("vm.swapiness=100", "--now vm.swapiness=100: no such setting under zram; expected one of: swap /sys/block/zram0/disksize"),
        ("swap=zarm", "--now swap=zarm: no such scheme; expected one of: none flash"),
        ("swap", "--now 'swap': no value; expected SETTING=VALUE"),
        ("vm.swappiness=", "--now 'vm.swappiness=': no value; expected SETTING=VALUE"),
    ],
)
def test_an_unknown_setting_of_today_is_refused(now: str, said: str) -> None:
    with pytest.raises(BadInput) as error:
        advice.current(experiments.read("android-15"), [now])
    assert said in str(error.value)


def test_swap_schemes_are_compared_with_the_baseline_s_own_size() -> None:
    """No swap is compared with what the phone has, not with the mean over all sizes of zram that
    were tried.
    """
    base, times = [100.0, 110, 90, 105], {"zram of 25 %": 2.0, "no swap": 0.9, "write-back": 1.1, "zstd": 3.0}
    phones = advice.candidates(advice.current(experiments.read("android-15"), []))
    rows = [phone_row(name, [times.get(name, 1.0) * ms for ms in base], swap=phone.swap.text) for name, phone in phones.items()]
    advised = advice.advise(document(rows))
    [swap] = [setting for setting in advised.settings if setting.name == "swap"]
    change = {value.value: value.effects[0].percent for value in swap.values}
    assert change == {"none": pytest.approx(-10), "tiered": pytest.approx(10)} and swap.recommended == "none"
