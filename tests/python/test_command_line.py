"""Random experiment files and options through the whole command: never a traceback, always 0, 1, 2, 3 or 130, one line for bad input."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from swaplab import cli
from swaplab.report import figure

CODES = {0, 1, 2, 3, 130}

POLICIES = st.sampled_from(["lru", "clock", "fifo", "opt", "arc", "spo-clock:t0=2"])
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
REPLAY = st.fixed_dictionaries(
    {"trace": st.just("t.csv")},
    optional={
        "policy": POLICIES | st.lists(POLICIES, min_size=1, max_size=2),
        "memory": SIZES | st.lists(SIZES, min_size=1, max_size=2, unique=True),
        "swap_device": st.sampled_from(["optane-m10", "ufs-3.1"]),
        "scheme": st.sampled_from(["flash", "zram", "nvm-direct"]),
        "mapping": st.sampled_from(["follow", "ignore"]),
        "signal": st.sampled_from(["exact", "fault-only", "reference-bit:10"]),
    },
)
VARY = st.fixed_dictionaries(
    {"replay.memory": st.lists(SIZES, min_size=1, max_size=3) | RANGES},
    optional={"replay.policy": st.lists(POLICIES, min_size=1, max_size=2), "seed": st.lists(st.integers(0, 9), min_size=1, max_size=2)},
)
SWEEP = st.fixed_dictionaries(
    {"vary": VARY, "points": st.integers(1, 4), "list": st.lists(st.fixed_dictionaries({"replay.memory": SIZES}), min_size=1, max_size=2)},
    optional={"design": st.sampled_from(["grid", "random", "list"])},
)
EXPERIMENTS = st.fixed_dictionaries({"replay": REPLAY, "sweep": SWEEP}, optional={"seed": st.integers(0, 9)})


def spoiled(experiment: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """The experiment with one value, somewhere, that nobody means."""
    at: Any = experiment
    while True:
        key = data.draw(st.sampled_from([*at, "unknown"] if isinstance(at, dict) else range(len(at))))
        inner = at.get(key) if isinstance(at, dict) else at[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.integers(0, 3)) == 0:
            at[key] = data.draw(BAD | ANYTHING)
            return experiment
        at = inner


def toml(value: Any) -> str:
    """A value as TOML (inline tables; None has no form there and becomes a bare word, which is an error to be reported)."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def swaplab(*arguments: str) -> tuple[int, str]:
    """The command in this process: its exit code and standard error."""
    said, printed = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["swaplab", *arguments]), contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return code, said.getvalue()


SEEN: dict[int, int] = {}
#: One page in so many is drawn in full; of the others, charts are built and turned into specs, which is where a figure can go wrong.
DRAWN = 8
drawings = itertools.count()


def drawn(chart: Any, on_paper: bool = False) -> str:
    """In place of `figure._draw`: nearly all the time of these tests goes into drawing pages that nobody looks at."""
    if next(drawings) % DRAWN == 0:
        return DRAW(chart, on_paper)
    assert figure._spec(chart, on_paper)
    return '<svg width="10">'


DRAW = figure._draw


@pytest.fixture(autouse=True, scope="module")
def few_drawings() -> Iterator[None]:
    with patch.object(figure, "_draw", drawn):
        yield


def check(*arguments: str) -> int:
    code, said = swaplab(*arguments)
    SEEN[code] = SEEN.get(code, 0) + 1
    assert code in CODES and "Traceback" not in said, (arguments, code, said)
    if code in (2, 3):
        assert said.startswith("swaplab: ") and said.count("\n") == 1, (arguments, said)
    return code


SETTINGS = settings(
    max_examples=50, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)


@SETTINGS
@given(EXPERIMENTS, st.data())
def test_random_experiment_files(experiment: dict[str, Any], data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        experiment = spoiled(json.loads(json.dumps(experiment)), data)
    text = "".join(f"{key} = {toml(value)}\n" for key, value in experiment.items())
    if data.draw(st.integers(0, 7)) == 0:  # a slip of the hand anywhere
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.text(max_size=2)) + text[at + data.draw(st.integers(0, 3)) :]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t.csv").write_text("page,op\n" + "".join(f"{(at * 7) % 31},{'RW'[at % 2]}\n" for at in range(200)))
        (folder / "bad.csv").write_text("page,op\n1,R\nx,W\n")
        (folder / "e.toml").write_text(text, encoding="utf-8", errors="replace")
        code = check("sweep", str(folder / "e.toml"), "--jobs", "1", "-o", str(folder / "out"), "--json")
        if code == 0:
            assert {file.name for file in (folder / "out").iterdir()} == {"results.parquet", "manifest.json", "summary.json", "report.html"}
        assert not list(folder.rglob("*.part"))


@SETTINGS
@given(
    st.lists(
        st.sampled_from(["replay.memory=5%", "seed=3", "replay.trace=t.csv", "a.b.c=1", "=", "replay=1"]) | ANYTHING.map(str),
        max_size=3,
    )
)
def test_random_changes(changes: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "e.toml"
        file.write_text("[replay]\ntrace = 'missing.slt'\n[sweep.vary]\nseed = [1]\n")
        sets = [part for change in changes for part in ("--set", change.replace("\0", "") or "x")]
        assert check("sweep", str(file), *sets, "-o", str(Path(name) / "out")) == 2


APPS = st.sampled_from([{"use": "phone-app"}, {"use": "swaplab-app", "name": "b", "set": {"footprint": "8MiB"}}, {"use": "a.toml"}])
BENCHES = st.fixed_dictionaries(
    {
        "memory": st.sampled_from(["32MiB", "4096p"]),
        "swap": st.sampled_from(["16MiB", ["8MiB", "64MiB"]]),
        "schemes": st.sampled_from(["zram", ["none", "flash"]]),
        "apps": st.lists(APPS, min_size=1, max_size=2),
    },
    optional={
        "order": st.sampled_from(["round-robin", ["phone-app"], {"launches": 9, "alpha": 1.5}]),
        "rounds": st.integers(1, 2),
        "swappiness": st.integers(0, 200),
        "app_policies": st.sampled_from([["none"], ["a2s", "ess"]]),
        "killer": st.sampled_from([{}, {"poll_ms": 5}]),
        "calibrate": st.booleans(),
    },
)


@SETTINGS
@given(BENCHES, st.data())
def test_random_benches(bench: dict[str, Any], data: st.DataObject) -> None:
    """Simulated, and as far as a dry run goes; JSON, which an experiment file may be, too."""
    experiment = json.loads(json.dumps({"seed": 1, "bench": bench}))
    if data.draw(st.booleans()):
        experiment = spoiled(experiment, data)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "e.json"
        file.write_text(json.dumps(experiment))
        (Path(name) / "a.toml").write_text('name = "a"\ncommand = ["sh"]\nready = [{ expect = "x" }]\nrequest = [{ expect = "x" }]\n')
        check("bench", str(file), "--dry-run", "--json")
        check("sim", str(file), "--jobs", "1", "--json")


#: Commands that change nothing outside their folder and end soon.
COMMANDS = (
    *("replay", "sim", "mrc", "compare", "plan", "recommend", "report", "rerun", "schema", "init", "energy", "explain", "fit"),
    *("nvm-cache", "compressibility", "list", "trace info", "trace import", "trace gen", "trace convert", "trace analyze", "trace slice"),
)
WORDS = st.sampled_from(
    [
        *("t.csv", "e.toml", "d.json", "bad.csv", "nowhere", ".", "small", "policies", "schemes"),
        *("--policy", "lru", "--memory", "50%", "8p", "--scheme", "zram", "--swap", "16MiB", "--seconds", "9", "--size", "64KiB"),
        *("--set", "seed=1", "replay.memory=x", "--run", "-o", "out", "--json", "--seed", "1", "-1", "--jobs", "1", "--seeds"),
        *("--swap-ins", "--swap-outs", "--direct-reads", "--to", "csv", "--format", "launches", "--preset", "bench", "--baseline", "d"),
        *("--fail-above", "1e9", "nan", "--static", "--perfetto", "--html", "", "½", "--resume", "--sample", "0.5", "--phone"),
    ]
)


@SETTINGS
@given(st.sampled_from(COMMANDS), st.lists(WORDS, max_size=6))
def test_random_words(command: str, words: list[str]) -> None:
    """Any command with any words."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        Path("t.csv").write_text("page,op\n" + "".join(f"{(at * 7) % 31},{'RW'[at % 2]}\n" for at in range(200)))
        Path("bad.csv").write_text("page,op\n1,R\nx,W\n")
        Path("e.toml").write_text('[replay]\ntrace = "t.csv"\n[sweep.vary]\nseed = [1, 2]\n')
        Path("d.json").write_text('{"schema": 1, "kind": "simulated", "points": []}')
        check(*command.split(), *words)
        assert not list(Path().rglob("*.part"))


DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "schema": st.sampled_from([1, 1, 1, 2, "1"]),
        "kind": ANYTHING,
        "points": ANYTHING
        | st.lists(st.fixed_dictionaries({}, optional={"policy": ANYTHING, "miss_ratio": ANYTHING, "memory_pages": ANYTHING}), max_size=2),
        "schemes": ANYTHING,
        "runs": ANYTHING,
        "plan": ANYTHING,
        "sweep": ANYTHING,
        "comparison": ANYTHING,
        "recommendation": ANYTHING,
        "experiment": ANYTHING,
    },
)


@SETTINGS
@given(DOCUMENTS)
def test_random_documents(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "d.json"
        file.write_text(json.dumps(document))
        if check("report", str(file), "--html", str(Path(name) / "r.html")) != 0:
            assert not (Path(name) / "r.html").exists()
        assert check("compare", str(file), f"b={file}") in (1, 2)
        check("recommend", str(file))
