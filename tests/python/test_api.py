"""The Python API: what it opens, what it refuses, and that it says the same as the command."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import polars as pl
import pytest
import swaplab as sl
from swaplab import _core

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def trace(tmp_path: Path) -> sl.Trace:
    path = tmp_path / "t.csv"
    path.write_text("page,op\n" + "".join(f"{(at * 7) % 31},{'RW'[at % 2]}\n" for at in range(500)))
    return sl.Trace.open(path)


def test_a_trace_says_what_the_core_says(trace: sl.Trace) -> None:
    assert trace.footprint_pages == 31 and trace.info["references"] == 500
    assert (
        repr(trace) == "Trace(t.csv: 500 references, 31 pages of 4096 bytes)" and "<th>references</th><td>500</td>" in trace._repr_html_()
    )
    assert sl.Trace.open(sl.Trace.bundled("node").path).info["references"] > 1_000_000
    with pytest.raises(sl.BadInput, match="expected one of: .*node"):
        sl.Trace.bundled("nod")
    with pytest.raises(sl.BadInput):
        sl.Trace.open("missing.slt")


def test_the_curve_is_lru_at_every_size(trace: sl.Trace) -> None:
    curve = trace.mrc()
    assert curve["memory_pages"].to_list() == list(range(1, 32))
    replayed = trace.replay("lru", [f"{n}p" for n in range(1, 32)]).points()
    assert (replayed["faults"] / replayed["references"]).to_list() == pytest.approx(curve["miss_ratio"].to_list())


def test_a_result_is_its_document_in_frames_and_figures(trace: sl.Trace, tmp_path: Path) -> None:
    result = trace.replay(["clock", "lru", "opt"], ["20%", "50%"], swap_device="ufs-3.1")
    assert result.kind == "simulated" and result.points().height == 6
    summary = result.summary()
    assert summary.filter(policy="clock")["mean"].item() == 1.0 and summary["mean"].is_sorted()
    assert result.summary(baseline="lru").filter(policy="lru")["mean"].item() == 1.0
    assert dir(result.plot) == ["io_time", "miss_ratio"] and "mark" in json.dumps(result.plot.io_time().to_dict())
    with pytest.raises(AttributeError, match="there are: io_time miss_ratio"):
        _ = result.plot.nothing
    assert "<svg" in result._repr_html_() and result.verdict() in repr(result)
    page = result.save("test", tmp_path)
    assert sl.Result.open(page.parent).document == result.document


def test_an_experiment_file_and_the_same_in_python_agree(trace: sl.Trace, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text("seed = 2\n[replay]\ntrace = 't.csv'\npolicy = ['lru', 'clock']\nmemory = '50%'\n")
    from_file = sl.Experiment.from_file(tmp_path / "e.toml", set=["replay.mapping=ignore"])
    in_python = sl.Experiment(seed=2, replay={"trace": trace.path, "policy": ["lru", "clock"], "memory": "50%", "mapping": "ignore"})
    assert from_file.resolved() == in_python.resolved()
    assert from_file.run(jobs=1).document == in_python.run(jobs=2).document
    frame = in_python.sweep({"replay.memory": ["20%", "40%"]}).run(tmp_path / "sweep", jobs=1)
    assert isinstance(frame, pl.DataFrame) and frame.height == 4


def test_what_can_not_be_meant_is_bad_input() -> None:
    for keys, message in (
        ({"replay": {"trace": "x", "polcy": "lru"}}, r"replay\.polcy"),
        ({"seed": -1}, "seed"),
        ({"replay": {"trace": "x", "mapping": "maybe"}}, "follow"),
    ):
        with pytest.raises(sl.BadInput, match=message):
            sl.Experiment(**keys)
    with pytest.raises(sl.BadInput, match="did you mean"):
        sl.Experiment(replay={"trace": "x", "policy": "clokc"}).run()


def test_the_generated_models_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate_config", ROOT / "tools" / "generate_config.py")
    assert spec and spec.loader
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert (ROOT / "python" / "swaplab" / "config.py").read_text() == generator.text(), "run tools/generate_config.py"


def test_the_stub_names_what_the_core_has() -> None:
    stub = (ROOT / "python" / "swaplab" / "_core.pyi").read_text()
    named = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE))
    assert named == {name for name in dir(_core) if not name.startswith("__")}
