"""The Python API: opening, refusals, and equality with the command."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import swaplab as sl
from command import ROOT, csv_trace, here, load_script
from swaplab import _core
from swaplab.core import model
from swaplab.core.trace import SLT, is_slt
from swaplab.worlds.run import Outcome


@pytest.fixture
def trace(tmp_path: Path) -> sl.Trace:
    return sl.Trace.open(csv_trace(tmp_path / "t.csv"))


def test_a_trace_has_the_facts_of_the_core(trace: sl.Trace) -> None:
    assert trace.footprint_pages == 31 and trace.info.references == 500
    assert repr(trace) == "Trace(t.csv: 500 references, 31 pages of 4096 bytes)"
    assert "<th>references</th><td>500</td>" in trace._repr_html_()
    assert sl.Trace.open(sl.Trace.bundled("node").path).info.references > 1_000_000
    with pytest.raises(sl.BadInput, match="expected one of: .*node"):
        sl.Trace.bundled("nod")
    with pytest.raises(sl.BadInput):
        sl.Trace.open("missing.slt")


def test_neither_a_pipe_nor_an_unreadable_file_is_taken_for_a_slt(tmp_path: Path) -> None:
    """What was written to the pipe is still in it."""
    os.mkfifo(tmp_path / "p")
    pipe = os.open(tmp_path / "p", os.O_RDWR)
    try:
        os.write(pipe, SLT)
        assert not is_slt(tmp_path / "p") and os.read(pipe, 100) == SLT
    finally:
        os.close(pipe)
    assert not is_slt(Path("/proc/self/mem")), "its first page cannot be read"
    assert is_slt(sl.Trace.bundled("node").path)


def test_the_curve_is_lru_at_every_size(trace: sl.Trace) -> None:
    curve = trace.mrc()
    assert curve["memory_pages"].to_list() == list(range(1, 32))
    replayed = trace.replay("lru", [f"{n}p" for n in range(1, 32)]).rows()
    assert (replayed["paging.faults"] / replayed["paging.references"]).to_list() == pytest.approx(curve["miss_ratio"].to_list())


def test_a_result_gives_its_document_as_frames_and_figures(trace: sl.Trace, tmp_path: Path) -> None:
    result = trace.replay(["clock", "lru", "opt"], ["20%", "50%"])
    assert result.rows().height == 6 and set(result.rows()["kind"]) == {"simulated"}
    summary = result.summary()
    assert summary.height == 6 and all(summary[name].null_count() < 6 for name in summary.columns)
    assert "launches.count" not in summary.columns and "time.io_ns" in summary.columns
    assert "io_time" in dir(result.plot) and "mark" in json.dumps(result.plot.io_time().to_dict())
    with pytest.raises(AttributeError, match="there are: .*io_time"):
        _ = result.plot.nothing
    assert "<svg" in result._repr_html_() and result.verdict() in repr(result)
    page = result.save(tmp_path / "run")
    assert page.is_file() and sl.Result.open(page.parent).document == result.document
    with pytest.raises(sl.BadInput, match="no table 'launches'|not there"):
        result.launches()
    with_events = sl.Result(Outcome(result.document, files={"x.events": "swapped out\n"}))
    assert with_events.save(tmp_path / "events").with_name("x.events").read_text() == "swapped out\n"


def test_an_experiment_file_and_its_python_form_agree(trace: sl.Trace, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(
        "[machine]\ndram = '50%'\n[[design]]\npolicy = ['lru', 'clock']\n[workload]\ntrace = 't.csv'\n[run]\nseed = 2\n"
    )
    from_file = sl.Experiment.from_file(tmp_path / "e.toml", set=["run.replay.mapping=ignore"])
    in_python = sl.Experiment(
        name="e",
        machine={"dram": "50%"},
        design=[{"policy": ["lru", "clock"]}],
        workload={"trace": str(trace.path)},
        run={"seed": 2, "replay": {"mapping": "ignore"}},
    )
    assert from_file.model == in_python.model
    assert from_file.run(jobs=1).document == in_python.run(jobs=2).document
    swept = in_python.sweep({"machine.dram": ["20%", "40%"]})
    assert swept.points() == [{"machine.dram": "20%"}, {"machine.dram": "40%"}]
    result = swept.run(folder=tmp_path / "sweep", jobs=1)
    assert isinstance(result.rows(), pl.DataFrame) and result.rows().height == 4
    assert sl.Result.open(tmp_path / "sweep").document == result.document
    in_python.save(tmp_path / "saved.toml")
    assert sl.Experiment.from_file(tmp_path / "saved.toml").run().document.rows == in_python.run().document.rows


def test_typed_tables_and_dictionaries_give_equal_experiments(trace: sl.Trace) -> None:
    """The generated classes are accepted instead of dictionaries."""
    plain: dict[str, Any] = {"machine": {"dram": "50%"}, "design": [{"policy": "lru"}], "workload": {"trace": str(trace.path)}}
    typed = sl.Experiment(
        machine=model.Machine(dram="50%"), design=[model.Design(policy="lru")], workload=model.Workload(trace=str(trace.path))
    )
    assert typed.model == sl.Experiment(**plain).model


def test_a_phone_in_python_has_its_tables(tmp_path: Path) -> None:
    experiment = sl.Experiment(
        machine={"base": "nexus-5", "dram": "1GiB"},
        design=[{"name": "zram", "swap": "zram:size=256MiB"}],
        workload={"launches": "zipf:launches=24"},
        run={"seeds": 2},
    )
    assert experiment.model.run.on == ["phone"], "launches alone are for the phone"
    result = experiment.run()
    [row] = result.document.rows
    assert row.launches and row.launches.count == 24 and row.seeds == 2
    launches = result.launches()
    assert launches.height > 0 and {"design", "seed"} <= set(launches.columns)
    assert result.table("timeline").height > 0
    with pytest.raises(sl.BadInput, match="nothing"):
        result.table("nothing")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"design": [{"polcy": "lru"}], "workload": {"trace": "x"}}, "polcy"),
    ({"design": [{"policy": "lru"}], "workload": {"trace": "x"}, "run": {"seed": -1}}, "seed"),
    ({"design": [{"policy": "lru"}], "workload": {"trace": "x"}, "run": {"replay": {"mapping": "maybe"}}}, "follow"),
    ({"design": [{"policy": "clokc"}], "workload": {"trace": "x"}}, "did you mean"),
    ({"design": [], "workload": {"trace": "x"}}, "no design"),
    ({"design": [{"policy": "lru"}]}, "no workload"),
    ({"replay": {"trace": "x"}}, "replay"),
]


@pytest.mark.parametrize(("tables", "message"), WRONG)
def test_invalid_values_raise_bad_input(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(sl.BadInput, match=message) as caught:
        sl.Experiment(**tables)
    assert "\n" not in str(caught.value)


def test_a_missing_trace_raises_bad_input_at_the_run() -> None:
    experiment = sl.Experiment(machine={"dram": "50%"}, design=[{"policy": "lru"}], workload={"trace": "gone.slt"})
    with pytest.raises(sl.BadInput, match=r"gone\.slt"):
        experiment.run()


def test_the_command_and_python_give_equal_rows(trace: sl.Trace) -> None:
    printed = here("replay", trace.path, "--policy", "lru,clock", "--memory", "20%,50%", "--json").document
    in_python = json.loads(trace.replay(["lru", "clock"], ["20%", "50%"]).document.model_dump_json(by_alias=True))
    assert printed["rows"] == in_python["rows"] and len(printed["rows"]) == 4


def test_the_generated_classes_are_up_to_date() -> None:
    found = (ROOT / "python" / "swaplab" / "core" / "model.py").read_text()
    assert found == load_script(ROOT / "tools" / "generate_model.py").text(json.loads(_core.schema("document"))), (
        "run tools/generate_model.py"
    )


def test_the_schemas_hold_the_types_of_the_classes() -> None:
    """The keys of the two schemas are exactly the fields of the generated classes."""
    for of, top in (("experiment", model.Experiment), ("document", model.Document)):
        schema = json.loads(_core.schema(of))
        names = {field.alias or name for name, field in top.model_fields.items()}
        assert names == schema["properties"].keys()
        for name, one in schema["$defs"].items():
            if "properties" in one:
                fields = getattr(model, name).model_fields
                assert {field.alias or key for key, field in fields.items()} == one["properties"].keys(), name


def test_the_stub_lists_the_core_s_names() -> None:
    stub = (ROOT / "python" / "swaplab" / "_core.pyi").read_text()
    named = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE))
    assert named == {name for name in dir(_core) if not name.startswith("__")}


def test_the_public_names_exist() -> None:
    assert all(hasattr(sl, name) for name in sl.__all__)
    assert {"Experiment", "Trace", "Result", "BadInput", "NotSupported"} <= set(sl.__all__)
