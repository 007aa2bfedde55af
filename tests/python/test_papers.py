"""Every claim of the papers has a verdict, and the tables in `papers/*/README.md` say what comes out."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from swaplab import BadInput, _core, papers, sensitivity
from swaplab.cli.init import PRESETS
from swaplab.experiment import read_experiment

PAPERS = Path(__file__).resolve().parents[2] / "papers"
SHARED = PAPERS.parents[1] / "shared" / "data"


@pytest.mark.parametrize("name", ["a2s", "dr-swap", "nvm-swap-cache", "spo-clock", "swapbench"])
def test_the_table_says_what_comes_out(name: str) -> None:
    claimed = (PAPERS / name / "README.md").read_text().split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in claimed.splitlines() if line.startswith("| ")]
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


def test_an_interval_draws_users_with_all_that_they_did() -> None:
    """Of two users the mean is one's, the other's or between; a difference within each user is sure, however far users are apart."""
    ours, theirs = ({"seeds": [{"n": first}, {"n": second}]} for first, second in ((0.0, 10.0), (-1.0, 9.0)))
    assert papers.interval([ours], lambda mean: mean("n")) == "95 %: 0.0 to 10.0"
    assert papers.interval([ours, theirs], lambda one, other: one("n") - other("n"), "+.2f") == "95 %: +1.00 to +1.00"
    assert papers.interval([{"seeds": [{"n": 1.0}]}], lambda mean: mean("n")) == ""


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


def _listed(reading: str, paper: str) -> list[str]:
    """The claims of a paper that READING lists: after "Claims to judge", else (003) all that its section asks for before the protocol."""
    section = re.search(rf"^## {paper} .*?(?=^## |\Z)", reading, re.MULTILINE | re.DOTALL)
    assert section, paper
    body = " ".join(section[0].split("\n", 1)[1].split())
    body = body.split("Claims to judge: ", 1)[1] if "Claims to judge: " in body else body.split(" Protocol from", 1)[0]
    items, depth = [""], 0
    for at, letter in enumerate(body):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and letter == "." and body[at + 1 : at + 2] in ("", " ") and not re.search(r"\bFigs?$", body[:at]):
            break
        if depth == 0 and letter in ";,":
            items.append("")
        else:
            items[-1] += letter
    return [item.strip() for item in items if item.strip()]


READING = PAPERS.parents[1] / "shared" / "papers" / "READING.md"
NUMBERS = {"000": "dr-swap", "001": "nvm-swap-cache", "002": "spo-clock", "003": "swapbench", "004": "a2s"}


@pytest.mark.skipif(not READING.is_file(), reason="the reading of the papers is not beside the checkout")
@pytest.mark.parametrize("number", NUMBERS)
def test_no_claim_of_the_reading_is_missing(number: str) -> None:
    """Every claim that READING lists has a row, and every row that names an entry of READING names one that is there."""
    rows = tomllib.loads((PAPERS / NUMBERS[number] / "expected.toml").read_text())["claim"]
    named = {row["reading"] for row in rows if "reading" in row}
    listed = _listed(READING.read_text(), number)
    assert len(listed) >= 4
    assert [item for item in listed if not any(name in item for name in named)] == []
    assert [name for name in named if not any(name in item for item in listed)] == []
    assert all(row["why"] and row["published"] for row in rows)


def test_tables_are_put_into_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p").mkdir()
    place = tmp_path / "p" / "README.md"
    place.write_text("# P\n\ntext\n\n| claim | x |\n|---|---|\n| old | 1 |\n\n## After\nkept\n")
    monkeypatch.setattr(papers, "folder", lambda: tmp_path)
    claim = {"claim": "c", "published": "1", "ours": None, "verdict": "not-testable", "why": "w"}
    papers.write_table("p", "| claim |", papers.claim_table([claim]))
    text = place.read_text()
    assert "| c | 1 | - | not-testable | w |" in text and "old" not in text and text.endswith("\n\n## After\nkept\n")
    papers.write_table("p", "## New", "## New\n\nrow\n")
    assert place.read_text().endswith("kept\n\n## New\n\nrow\n")
    papers.write_table("p", "## New", "## New\n\nother\n")
    assert place.read_text().count("## New") == 1 and place.read_text().endswith("other\n")


def test_a_conclusion_is_stated_only_where_it_holds_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parameters of a phone of fixed figures: resumes hold, swap-out fails once, and one phone has nothing to compare."""
    figures = iter(
        [(10, 8, 100, 50), (10, 9, 100, 99), (10, 9, 100, 100), (12, 11, 0, 0), (10, 9, 100, 20), (10, 9, 100, 20), (11, 9, 8, 4)]
    )

    def run(experiment: dict[str, Any], jobs: int) -> dict[str, Any]:
        with_swap, without, vanilla, gated = next(figures)
        rows = [(without, 0), (with_swap, vanilla), (with_swap, gated)]
        names = ("no swap", "vanilla flash swap", "A2S")
        return {"schemes": [{"name": n, "resumes": r, "swap_out_bytes": b} for n, (r, b) in zip(names, rows, strict=True)]}

    wanted = tomllib.loads((PAPERS / "a2s" / "sensitivity.toml").read_text())
    monkeypatch.setattr(sensitivity.sim, "run", run)
    compared = [
        {"claim": "gains", "of": "A2S", "than": "no swap", "what": "resumes", "more": True},
        {"claim": "less", "of": "A2S", "than": "vanilla flash swap", "what": "swap_out_bytes"},
    ]
    changed = wanted | {"parameter": wanted["parameter"][:3], "conclusion": compared}
    monkeypatch.setattr(sensitivity.tomllib, "loads", lambda text: changed)
    found = sensitivity.table("a2s", seeds=1)
    gains, less = found["conclusions"]
    assert (gains["holds"], gains["phones"], gains["stated"]) == (7, 7, True)
    assert (less["holds"], less["phones"], less["stated"], less["most"]) == (5, 6, False, 1.0)
    text = sensitivity.markdown(found)
    assert "| yes |" in text and "| no |" in text and "**1.000**" in text and "| - |" in text


def test_the_sensitivity_table_is_of_the_phone_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it takes minutes: the phone as assumed, which every other one shares its model with, stands for it."""
    wanted = tomllib.loads((PAPERS / "a2s" / "sensitivity.toml").read_text()) | {"parameter": []}
    monkeypatch.setattr(sensitivity.tomllib, "loads", lambda text: wanted)
    [row] = [line for line in sensitivity.markdown(sensitivity.table("a2s")).splitlines() if line.startswith("| as assumed |")]
    assert row in (PAPERS / "a2s" / "README.md").read_text().splitlines(), "run `swaplab papers sensitivity a2s --write`"


@pytest.mark.parametrize(("preset", "paper"), [("dr-swap", "dr-swap"), ("kim-bahn", "nvm-swap-cache")])
def test_a_preset_has_the_phone_of_its_paper(preset: str, paper: str) -> None:
    run = tomllib.loads((PAPERS / paper / "experiment.toml").read_text())["phone"]
    found = read_experiment(PRESETS / f"{preset}.toml")["sim"]
    expected = read_experiment(PRESETS / "a2s-large.toml", [f"sim.phone.dram_mib={run['dram_mib']}"])["sim"]
    assert found["phone"] == expected["phone"]


def test_every_assumed_parameter_is_a_key_of_the_experiment() -> None:
    """Each end of each range is an experiment that the core takes, and differs from the preset."""
    wanted = tomllib.loads((PAPERS / "a2s" / "sensitivity.toml").read_text())
    ends = [parameter[end] for parameter in wanted["parameter"] for end in ("low", "high")]
    base, *varied = [point.experiment for point in sensitivity._phones(wanted, [{}, *ends], 1)]
    assert all(experiment != base for experiment in varied) and len(varied) == len(ends)
    with pytest.raises(BadInput, match="no sensitivity of 'spo-clock'; expected one of: a2s"):
        sensitivity.table("spo-clock")
