"""Every claim of the papers has a verdict, and the tables in `papers/*/README.md` say what comes out."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from swaplab import BadInput, _core, papers

PAPERS = Path(__file__).resolve().parents[2] / "papers"
SHARED = PAPERS.parents[1] / "shared" / "data"


@pytest.mark.parametrize("name", ["a2s", "dr-swap", "nvm-swap-cache", "spo-clock"])
def test_the_table_says_what_comes_out(name: str) -> None:
    rows = [line.split("|")[1:-1] for line in (PAPERS / name / "README.md").read_text().splitlines() if line.startswith("| ")]
    table = {row[0].strip(): (row[2].strip(), row[3].strip()) for row in rows}
    claims = list(papers.check([name]))
    for claim in claims:
        said = table[claim.claim]
        if claim.verdict == "not-testable" and said[1] != "not-testable":
            assert not SHARED.is_dir(), claim.claim
            continue
        # The same verdict, and the same figures wherever the same data is there.
        assert said == (claim.ours or "-", claim.verdict)
    assert len(table) == 1 + len(claims)


def test_verdicts_follow_the_band(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = tmp_path / "p"
    paper.mkdir()
    row = '[[claim]]\nclaim = "c"\npublished = "x"\nwhy = "w"\n'
    band = 'band = [1.0, 2.0]\nmeasure = "m"\n'
    (paper / "expected.toml").write_text(row + band + row + row + band + 'met = "arithmetic"\n' + row + band + 'missed = "not-testable"\n')
    monkeypatch.setattr(papers, "folder", lambda: tmp_path)

    def verdicts(value: str) -> list[str]:
        (paper / "measure.py").write_text(f"from swaplab.papers import Measured\ndef m():\n    return {value}\n")
        return [claim.verdict for claim in papers.check()]

    assert verdicts("Measured(1.5, '')") == ["reproduced", "not-testable", "arithmetic", "reproduced"]
    assert verdicts("Measured(3, '')") == ["differs", "not-testable", "differs", "not-testable"]
    assert verdicts("Measured(3, '', ordered=True)") == ["ordering", "not-testable", "ordering", "not-testable"]
    assert verdicts("None") == ["not-testable"] * 4
    with pytest.raises(BadInput, match="no paper 'q'; expected one of: p"):
        list(papers.check(["q"]))


def test_the_generated_trace_has_the_skew_it_promises(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("generate", PAPERS / "nvm-swap-cache" / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    parameters: dict[str, Any] = tomllib.loads((PAPERS / "nvm-swap-cache" / "experiment.toml").read_text())["generated"]
    trace = tmp_path / "t.csv"
    trace.write_text("\n".join(generate.block_csv(parameters | {"pages": 4000})) + "\n")
    found = json.loads(_core.trace_analyze(trace, "{}", None))
    assert found["top_share"]["0.15"] == pytest.approx(parameters["hot_share_of_accesses"], abs=0.01)
    assert found["single_access_ratio"] == pytest.approx(parameters["single_access_share_of_data"], abs=0.01)
