"""Random experiment files and options for the command: never a traceback, exit code 0, 1, 2, 3 or
130, one line for bad input.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from command import csv_trace, here
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from swaplab.report import figure

CODES = {0, 1, 2, 3, 130}

POLICIES = st.sampled_from(["lru", "clock", "fifo", "opt", "arc", "spo-clock:t0=2"])
SCHEMES = st.sampled_from(["flash", "zram", "nvm-direct", {"key": "zram", "size": "1MiB"}])
SIZES = st.sampled_from(["50%", "100%", "8p", "64KiB", "12.5%"])
BAD = st.sampled_from(
    ["clokc", "lru:x=1", "", "clock:bits=99", "two-q:in=nan", "101%", "0p", "1GiB", "-1p", "5", "nan%", "1e3%", "½p", "1p", "bad.csv"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**65) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
RANGES = st.fixed_dictionaries(
    {"low": st.sampled_from([10, 20.5]), "high": st.sampled_from([60, 100])},
    optional={"steps": st.integers(1, 3), "unit": st.sampled_from(["%", "p"]), "log": st.booleans()},
)
DESIGNS = st.lists(
    st.fixed_dictionaries(
        {"policy": POLICIES | st.lists(POLICIES, min_size=1, max_size=2)},
        optional={"swap": SCHEMES | st.lists(SCHEMES, min_size=1, max_size=2), "name": st.sampled_from(["a", "b · c", "1.5"])},
    ),
    min_size=1,
    max_size=2,
)
REPLAY = st.fixed_dictionaries(
    {},
    optional={
        "swap_device": st.sampled_from(["optane-m10", "ufs-3.1"]),
        "mapping": st.sampled_from(["follow", "ignore"]),
        "signal": st.sampled_from(["exact", "fault-only", "reference-bit:10"]),
        "first_touch": st.sampled_from(["charged", "zero-fill"]),
        "length": st.sampled_from(["9s", "1h"]),
    },
)
RUNS = st.fixed_dictionaries({"on": st.just(["replay"])}, optional={"seed": st.integers(0, 9), "replay": REPLAY})
VARY = st.fixed_dictionaries(
    {"machine.dram": st.lists(SIZES, min_size=1, max_size=3) | RANGES},
    optional={
        "design.1.policy": st.lists(POLICIES, min_size=1, max_size=2),
        "run.seed": st.lists(st.integers(0, 9), min_size=1, max_size=2),
    },
) | st.fixed_dictionaries({"points": st.integers(1, 4), "machine.dram": RANGES})
MACHINES = st.fixed_dictionaries({"dram": SIZES}, optional={"base": st.just("plain"), "devices": st.just({"flash": "emmc-5.1"})})
EXPERIMENTS = st.fixed_dictionaries(
    {"design": DESIGNS, "workload": st.just({"trace": "t.csv"}), "run": RUNS}, optional={"machine": MACHINES, "vary": VARY}
)


def spoiled(experiment: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """Draw the experiment with one value replaced by an arbitrary one."""
    at: Any = experiment
    while True:
        key = data.draw(st.sampled_from([*at, "unknown"] if isinstance(at, dict) else range(len(at))))
        inner = at.get(key) if isinstance(at, dict) else at[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.integers(0, 3)) == 0:
            at[key] = data.draw(BAD | ANYTHING)
            return experiment
        at = inner


def toml(value: Any) -> str:
    """Format a value as TOML with inline tables. None, which TOML lacks, becomes a bare word, an
    error to be reported.
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


#: Counts of exit codes by test, to check that cases end in different ways.
SEEN: dict[str, Counter[int]] = {}
#: Every nth page is drawn in full; for others only the charts' specifications are built, where most
#: errors occur.
DRAWN = 8
drawings = itertools.count()


def drawn(chart: Any, opaque: bool = False) -> str:
    """Replace `figure._draw`, which would take nearly all the time of these tests."""
    if next(drawings) % DRAWN == 0:
        return DRAW(chart, opaque)
    assert figure._spec(chart, opaque)
    return '<svg width="10">'


DRAW = figure._draw


@pytest.fixture(autouse=True, scope="module")
def few_drawings() -> Iterator[None]:
    with patch.object(figure, "_draw", drawn):
        yield


def check(test: str, *arguments: str) -> int:
    done = here(*arguments)
    SEEN.setdefault(test, Counter())[done.code] += 1
    assert done.code in CODES and "Traceback" not in done.err, (arguments, done)
    if done.code in (2, 3) and not done.out.startswith("Usage: "):
        assert done.err.startswith("swaplab: ") and done.err.count("\n") == 1, (arguments, done.err)
    return done.code


SETTINGS = settings(
    max_examples=50, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)


@SETTINGS
@given(EXPERIMENTS, st.data())
def random_experiment_files(experiment: dict[str, Any], data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        experiment = spoiled(json.loads(json.dumps(experiment)), data)
    text = "".join(f"{key} = {toml(value)}\n" for key, value in experiment.items())
    if data.draw(st.integers(0, 7)) == 0:  # a typing error anywhere
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.text(max_size=2)) + text[at + data.draw(st.integers(0, 3)) :]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        csv_trace(folder / "t.csv", 200)
        (folder / "bad.csv").write_text("page,op\n1,R\nx,W\n")
        (folder / "e.toml").write_text(text, encoding="utf-8", errors="replace")
        code = check("files", "run", str(folder / "e.toml"), "--jobs", "1", "-o", str(folder / "out"), "--json")
        if code == 0:
            assert {"manifest.json", "summary.json", "report.html"} <= {file.name for file in (folder / "out").iterdir()}
            assert not (folder / "out" / "parts").exists()
        elif code == 2:
            assert not (folder / "out").exists(), "nothing half-written"
        assert not list(folder.rglob("*.part"))


def test_random_experiment_files() -> None:
    random_experiment_files()
    assert SEEN["files"][0] >= 10 and SEEN["files"][2] >= 10, SEEN


@SETTINGS
@given(
    st.lists(
        st.sampled_from(["machine.dram=5%", "run.seed=3", "workload.trace=t.csv", "design.1.policy=lru", "a.b.c=1", "=", "run=1"])
        | ANYTHING.map(str),
        max_size=3,
    )
)
def test_random_changes(changes: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "e.toml"
        file.write_text("[[design]]\npolicy = 'clock'\n[machine]\ndram = '10%'\n[workload]\ntrace = 'missing.slt'\n")
        sets = [part for change in changes for part in ("--set", change.replace("\0", "") or "x")]
        assert check("changes", "run", str(file), *sets, "-o", str(Path(name) / "out")) == 2
        assert not (Path(name) / "out").exists()


APPS = st.sampled_from([{"use": "phone-app"}, {"use": "swaplab-app", "name": "b", "footprint": "8MiB"}, {"use": "a.toml"}])
LIVE = st.fixed_dictionaries(
    {
        "machine": st.fixed_dictionaries(
            {"dram": st.sampled_from(["32MiB", "4096p"])},
            optional={
                "kernel": st.fixed_dictionaries({"swappiness": st.integers(0, 200)}),
                "killer": st.sampled_from(["off", "lmkd-psi", {"key": "lmkd-psi", "poll_ms": 5}, "minfree"]),
            },
        ),
        "design": st.lists(
            st.fixed_dictionaries(
                {"swap": st.sampled_from(["zram:size=16MiB", ["none", "flash:size=8MiB"], ["zram:size=8MiB", "zram:size=64MiB"]])},
                optional={"app_policy": st.sampled_from(["none", "a2s", ["none", "ess"]])},
            ),
            min_size=1,
            max_size=1,
        ),
        "workload": st.fixed_dictionaries(
            {
                "apps": st.lists(APPS, min_size=1, max_size=2),
                "launches": st.fixed_dictionaries(
                    {"rounds": st.integers(1, 2)},
                    optional={"order": st.sampled_from(["round-robin", ["phone-app"], {"launches": 9, "alpha": 1.5}])},
                ),
            }
        ),
        "run": st.fixed_dictionaries(
            {"on": st.just(["kernel"]), "seed": st.just(1)},
            optional={"kernel": st.fixed_dictionaries({"calibrate": st.booleans()}), "seeds": st.just(1)},
        ),
    }
)


@SETTINGS
@given(LIVE, st.data())
def test_random_launches_of_real_apps(live: dict[str, Any], data: st.DataObject) -> None:
    """Check and simulate, and on the kernel make a dry run; also with experiment files in JSON."""
    experiment = json.loads(json.dumps(live))
    if data.draw(st.booleans()):
        experiment = spoiled(experiment, data)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "e.json"
        file.write_text(json.dumps(experiment))
        (Path(name) / "a.toml").write_text('name = "a"\ncommand = ["sh"]\nready = [{ expect = "x" }]\nrequest = [{ expect = "x" }]\n')
        check("live", "check", str(file), "--json")
        check("live", "run", str(file), "--dry-run", "--json")
        check("live", "run", str(file), "--on", "phone", "--jobs", "1", "--json")


#: Commands that change nothing outside their folder and take little time.
COMMANDS = (
    *("replay", "run", "check", "compare", "plan", "recommend", "report", "rerun", "schema", "new", "explain", "list"),
    *("papers energy", "papers nvm-cache", "trace fit app", "trace fit phone", "trace sample-compressibility", "trace mrc"),
    *("trace info", "trace import", "trace gen", "trace convert", "trace analyze", "trace slice"),
)
WORDS = st.sampled_from(
    [
        *("t.csv", "e.toml", "d.json", "bad.csv", "nowhere", ".", "small", "policies", "schemes", "document"),
        *("--policy", "lru", "--memory", "50%", "8p", "--swap", "zram", "16MiB", "--seconds", "9", "--size", "64KiB"),
        *("--set", "run.seed=1", "machine.dram=x", "-o", "out", "--json", "--seed", "1", "-1", "--jobs", "1", "--on", "phone"),
        *("--swap-ins", "--swap-outs", "--direct-reads", "--to", "csv", "--format", "launches", "--preset", "replay", "--baseline", "d"),
        *("--fail-above", "1e9", "nan", "--static", "--perfetto", "--save", "", "½", "--resume", "--sample", "0.5", "--machine"),
    ]
)


@SETTINGS
@given(st.sampled_from(COMMANDS), st.lists(WORDS, max_size=6))
def test_random_words(command: str, words: list[str]) -> None:
    """Run any command with any arguments."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        csv_trace(Path("t.csv"), 200)
        Path("bad.csv").write_text("page,op\n1,R\nx,W\n")
        Path("e.toml").write_text("[[design]]\npolicy = 'lru'\n[workload]\ntrace = 't.csv'\n[vary]\n'machine.dram' = ['20%', '50%']\n")
        Path("d.json").write_text('{"schema": 2, "name": "d", "rows": []}')
        check("words", *command.split(), *words)
        assert not list(Path().rglob("*.part"))


DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "schema": st.sampled_from([2, 2, 2, 1, "2"]),
        "name": ANYTHING,
        "rows": ANYTHING
        | st.lists(st.fixed_dictionaries({}, optional={"world": ANYTHING, "design": ANYTHING, "paging": ANYTHING}), max_size=2),
        "experiment": ANYTHING,
        "inputs": ANYTHING,
        "versions": ANYTHING,
        "warnings": ANYTHING,
        "tables": ANYTHING,
        "machine": ANYTHING,
    },
)


@SETTINGS
@given(DOCUMENTS)
def test_random_documents(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        file, page = Path(name) / "d.json", Path(name) / "r.html"
        file.write_text(json.dumps(document))
        if check("documents", "report", str(file), "-o", str(page)) != 0:
            assert not page.exists()
        assert check("documents", "compare", str(file), f"b={file}") in (1, 2)
        check("documents", "recommend", str(file))
        check("documents", "explain", str(file), "1")
        check("documents", "rerun", str(file))
