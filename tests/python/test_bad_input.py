"""Invalid experiments and outputs: one line with place, problem and remedy, exit code 2, no partial
output.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from command import DATA, EXPERIMENTS, SWAPLAB, csv_trace, here, swaplab
from swaplab.core.files import file_name

DESIGN = "[[design]]\npolicy = 'lru'\n"
TRACE = "[workload]\ntrace = 't.csv'\n"
WHOLE = f"[machine]\ndram = '50%'\n{DESIGN}{TRACE}"
FILES = {
    "unknown key": (f"{WHOLE}\n[run]\nseds = 3\n", ["unknown key 'seds'", "'seeds'"]),
    "unknown table": (f"{WHOLE}\n[sim]\nx = 1\n", ["unknown key 'sim'"]),
    "key of a design": ("[[design]]\npolcy = 'lru'\n" + TRACE, ["line 2", "unknown key 'polcy'", "'policy'"]),
    "parameter": (WHOLE.replace("'lru'", "'clock:bit=1'"), ["unknown parameter 'bit'", "'bits'"]),
    "parameter in a table": (WHOLE.replace("'lru'", "{ key = 'clock', bit = 1 }"), ["unknown parameter 'bit'", "'bits'"]),
    "not TOML": ("[machine\n", ["line 1"]),
    "wrong type": (f"{WHOLE}\n[run]\nseeds = 'many'\n", ["many"]),
    "a size without a unit": (WHOLE.replace("'50%'", "'25'"), ["'25' has no unit", "25% or 25MiB?"]),
    "a size that is a number": (WHOLE.replace("'50%'", "64"), ["'64' has no unit"]),
    "a size beyond all": (WHOLE.replace("'50%'", "'99999999999GiB'"), ["too large"]),
    "no design": (TRACE, ["no design", "at least one [[design]]"]),
    "no workload": (f"[machine]\ndram = '64MiB'\n{DESIGN}", ["no workload", "a trace, launches or apps"]),
    "two workloads of one kind": (f"{WHOLE}trace = 'u.csv'\n", ["duplicate key"]),
    "percent without a trace": (f"[machine]\ndram = '50%'\n{DESIGN}[workload]\nlaunches = 'small'\n", ["'50%'", "there is no trace"]),
    "no memory": (f"{DESIGN}{TRACE}", ["no machine.dram", "64MiB"]),
    "missing trace": (WHOLE.replace("t.csv", "gone.slt"), ["gone.slt: No such file", "expected a trace"]),
    "a trace that is none": (WHOLE.replace("t.csv", "e.toml"), ["e.toml"]),
    "unknown world": (f"{WHOLE}\n[run]\non = ['phne']\n", ["unknown world 'phne'", "'phone'"]),
    "a world that can't": (f"{WHOLE}\n[run]\non = ['memory']\n", ["memory", "no list of programs"]),
    "vary of no key": (f"{WHOLE}\n[vary]\n'machine.drum' = ['5%']\n", ["machine.drum = 5%", "unknown key 'drum'", "'dram'"]),
    "vary of nothing": (f"{WHOLE}\n[vary]\n", ["nothing varies"]),
    "two designs of one name": (WHOLE + DESIGN, ["two designs called 'lru'"]),
    "equal designs in a list": (WHOLE.replace("'lru'", "['lru', 'lru']"), ["two designs called 'lru'"]),
    "the old form": ("[replay]\ntrace = 't.csv'\npolicy = 'lru'\nmemory = '50%'\n", ["unknown key 'replay'"]),
    "a key that acts on nothing": (f"{WHOLE}[workload.reading]\npages = 'nofile'\n", ["nofile"]),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    csv_trace(tmp_path / "t.csv")
    return tmp_path


@pytest.mark.parametrize("case", FILES)
def test_an_invalid_experiment_file_is_refused_before_any_work(case: str, folder: Path) -> None:
    text, parts = FILES[case]
    (folder / "e.toml").write_text(text)
    before = sorted(folder.rglob("*"))
    place = {"missing trace": "gone.slt", "a key that acts on nothing": "nofile"}.get(case, "e.toml")
    here("run", "e.toml", "-o", "out").refuses(place, *parts)
    assert sorted(folder.rglob("*")) == before


def test_an_invalid_set_option_is_refused_with_its_text(folder: Path) -> None:
    (folder / "e.toml").write_text(WHOLE)
    cases = [
        (["nothing"], "'nothing'; expected KEY=VALUE"),
        (["machine.drum=5%"], "unknown key 'drum'; expected 'dram'"),
        (["design.lur.policy=clock"], "no design 'lur'; expected 'lru'"),
        (["run.seed=1", "run.seed=2"], "'run.seed' twice"),
        (["machine={}", "machine.dram=5%"], "one inside the other"),
        (["design.lru.policy.bits=2"], "unknown parameter 'bits'"),
    ]
    for changes, expected in cases:
        here("run", "e.toml", *[word for change in changes for word in ("--set", change)]).refuses(expected)


def test_varying_a_key_that_another_key_disables_is_reported(folder: Path) -> None:
    """lmkd's settings have no effect with the minfree killer, so varying them is refused."""
    (folder / "e.toml").write_text(
        "[machine]\nbase = 'nexus-5'\n[[design]]\nname = 'A'\nswap = 'zram:size=64MiB'\nkiller = 'minfree'\n"
        "[workload]\nlaunches = 'zipf:launches=4'\n[run]\nseeds = 1\n[vary]\n'design.A.killer.psi_partial_stall_ms' = [70, 140]\n"
    )
    here("run", "e.toml", "-o", "out").refuses("unknown parameter 'psi_partial_stall_ms'")
    assert not (folder / "out").exists()


OLDER = {
    "schema 1": ({"schema": 1, "kind": "simulated", "points": []}, ["schema 1", "schema 2", "run the experiment again"]),
    "no schema": ({"rows": []}, ["no 'schema'", "expected a document of `swaplab run`"]),
    "no document": ([], ["d.json"]),
}


@pytest.mark.parametrize("case", OLDER)
@pytest.mark.parametrize("command", ["report", "compare", "explain", "recommend", "rerun"])
def test_a_document_of_an_older_schema_is_refused_by_every_reader(command: str, case: str, folder: Path) -> None:
    document, parts = OLDER[case]
    (folder / "d.json").write_text(json.dumps(document))
    before = sorted(folder.rglob("*"))
    words = {"compare": ["d.json", "d.json"], "explain": ["d.json", "1"]}.get(command, ["d.json"])
    done = here(command, *words)
    done.refuses("d.json")
    if command in ("report", "recommend", "compare"):
        done.refuses(*parts)
    assert sorted(folder.rglob("*")) == before


def test_an_unknown_key_within_a_document_is_refused(folder: Path) -> None:
    document = json.loads(here("replay", "t.csv", "--memory", "50%", "--json").out)
    document["rows"][0]["paging"]["fautls"] = 1
    (folder / "d.json").write_text(json.dumps(document))
    here("report", "d.json", "-o", "r.html").refuses("d.json", "fautls")
    assert not (folder / "r.html").exists()


def slow(folder: Path) -> Path:
    """An experiment that runs for minutes, so that the test would time out if it ran before the
    output is checked.
    """
    (folder / "slow.toml").write_text(
        "[machine]\nbase = 'nexus-5'\n[[design]]\nswap = 'zram:size=256MiB'\n[workload]\nlaunches = 'large'\n[run]\nseeds = 2000\n"
    )
    return folder / "slow.toml"


def test_outputs_are_checked_before_the_first_measurement(folder: Path) -> None:
    """A file as folder, a folder below a file, and a non-empty folder are refused at once, also for
    root.
    """
    experiment = slow(folder)
    (folder / "file").write_text("mine")
    (folder / "full").mkdir()
    (folder / "full" / "mine").write_text("mine")
    for place, message in (("file", "file"), ("file/below", "Not a directory"), ("full", "not empty"), ("/proc/none", "/proc/none")):
        done = swaplab("run", experiment, "-o", place, timeout=60)
        done.refuses(message)
    assert (folder / "file").read_text() == "mine" and [path.name for path in (folder / "full").iterdir()] == ["mine"]


def test_a_read_only_folder_is_refused_before_work(tmp_path: Path) -> None:
    """For root, who can write to any folder, the file system is read-only."""
    place = tmp_path / "place"
    place.mkdir()
    root = os.geteuid() == 0
    if root and subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("no right to mount a file system")
    try:
        experiment = slow(place)
        subprocess.run(["mount", "-o", "remount,ro", str(place)] if root else ["chmod", "555", str(place)], check=True)
        reason = "Read-only file system" if root else "Permission denied"
        swaplab("run", experiment, "-o", place / "out", timeout=120).refuses("out", reason)
        here("new", place / "x.toml").refuses("x.toml", reason)
        here("replay", DATA / "djpeg.slt", "--save", place / "x.toml").refuses("x.toml", reason)
        here("trace", "convert", DATA / "djpeg.slt", "--to", "csv", "-o", place / "t.csv").refuses("t.csv", reason)
        assert sorted(path.name for path in place.iterdir()) == ["slow.toml"]
    finally:
        subprocess.run(["umount", str(place)] if root else ["chmod", "755", str(place)], check=True)


def test_a_full_disk_is_one_line_and_no_traceback(folder: Path) -> None:
    """`/dev/full` acts as a full disk, as standard output and as a file."""
    for words in (["list", "policies"], ["replay", "t.csv", "--memory", "50%", "--json"], ["schema"], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([SWAPLAB, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, cwd=folder)
        assert done.returncode == 1 and "No space left on device" in done.stderr and done.stderr.count("\n") == 1, (words, done.stderr)
    here("replay", "t.csv", "--memory", "50%", "--save", "/dev/full").refuses("/dev/full: No space left on device")
    here("trace", "convert", "t.csv", "--to", "csv", "-o", "/dev/full").refuses("/dev/full", "No space left")


def test_a_run_folder_on_a_full_disk_reports_it(folder: Path) -> None:
    """A file system of four pages has room for the folder, but not for the report."""
    place = folder / "tiny"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a file system")
    try:
        done = swaplab("replay", "t.csv", "--memory", "10%", "-o", place / "out", cwd=folder)
        assert done.code in (1, 2) and "No space left on device" in done.err and done.err.count("\n") == 1, done
        assert not list(place.rglob(".*.part"))
    finally:
        subprocess.run(["umount", str(place)], check=True)


NAME = b"tr\xe4ce"


def test_names_that_are_not_utf_8_are_shown_escaped(folder: Path) -> None:
    """Linux file names are bytes. A run folder and an inspected trace may have any name; names in
    an experiment must be text.
    """
    trace = os.fsdecode(NAME + b".csv")
    csv_trace(Path(trace))
    assert here("trace", "info", trace, "--json").document["references"] == 500
    for words in (["replay", trace], ["trace", "mrc", trace, "--policy", "clock"]):
        here(*words).refuses("tr\\xe4ce.csv: not UTF-8; expected a name that is")
    os.symlink(trace, "link.csv")
    run = os.fsdecode(NAME)
    done = swaplab("replay", "link.csv", "--memory", "50%", "-o", run)
    assert done.code == 0 and "tr\\xe4ce/report.html" in done.out and "Traceback" not in done.err, done
    assert (Path(run) / "summary.json").is_file()
    assert swaplab("report", run).code == 0
    assert swaplab("rerun", run).out == "1 of 1 rows identical\n"
    missing = os.fsdecode(b"missing-\xff.csv")
    swaplab("run", missing).refuses("missing-\\xff.csv")
    swaplab("trace", "info", missing).refuses("missing-\\xff.csv")


def test_an_experiment_that_is_not_utf_8_is_refused_with_the_byte(folder: Path) -> None:
    (folder / "e.toml").write_bytes(b"name = '\xe4'\n")
    here("run", "e.toml").refuses("e.toml: byte 8: not UTF-8")


def test_names_with_control_characters_do_not_reach_the_terminal_or_other_folders(folder: Path) -> None:
    bad = "../../up\\u001b[2J\\nname"
    (folder / "e.toml").write_text(WHOLE.replace("policy =", f'name = "{bad}"\npolicy ='))
    before = sorted(path.name for path in folder.parent.iterdir())
    done = swaplab("run", "e.toml", "-o", "out", cwd=folder)
    assert done.code == 0 and "\x1b" not in done.out and "../../up\N{REPLACEMENT CHARACTER}[2J" in done.out, done
    assert {path.name for path in (folder / "out").iterdir()} == {"summary.json", "manifest.json", "report.html", "results.parquet"}
    assert sorted(path.name for path in folder.parent.iterdir()) == before
    assert file_name("../../up\n") == ".._.._up_" and file_name("zram:size=64MiB") == "zram:size=64MiB"


def test_outputs_have_the_mode_of_the_umask_or_of_the_replaced_file(folder: Path) -> None:
    commands = (["replay", "t.csv", "--memory", "50%", "--save", "x.toml"], ["trace", "import", "t.csv", "-o", "t.slt"])
    before = os.umask(0o077)
    try:
        for words in commands:
            assert here(*words).code == 0
        os.umask(0o022)
        for words in commands:
            assert here(*words).code == 0
            name = words[-1]
            assert Path(name).stat().st_mode & 0o777 == 0o600
            Path(name).unlink()
            assert here(*words).code == 0
            assert Path(name).stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_an_input_is_never_an_output(folder: Path) -> None:
    before = (folder / "t.csv").read_bytes()
    here("replay", "t.csv", "--memory", "50%", "--save", "t.csv").refuses("t.csv")
    here("replay", "t.csv", "--memory", "50%", "-o", "t.csv").refuses("t.csv")
    assert (folder / "t.csv").read_bytes() == before


def test_check_json_has_its_keys_and_every_world(folder: Path) -> None:
    found = here("check", EXPERIMENTS / "worlds.toml", "--json").document
    assert list(found) == ["on", "designs"] and found["on"] == ["phone", "kernel", "vm"]
    assert [list(one) for one in found["designs"]] == [["design", "worlds"]] * 3
