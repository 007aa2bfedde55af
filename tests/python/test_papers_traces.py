"""`swaplab papers check --traces DIR`: a paper's claims on traces that somebody else has."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from swaplab import BadInput
from swaplab.analysis import papers, papers_readme
from swaplab.core.errors import NotSupported


def _write_trace(place: Path, seed: int) -> None:
    """Write a trace of 400 pages in the format of SPO-CLOCK's authors (`oslab`): a page in decimal,
    then I, R or W.
    """
    dice = random.Random(seed)
    lines = []
    for _ in range(6000):
        page = min(int(dice.paretovariate(0.6)), 400)
        lines.append(f"{page} {'I' if page % 5 == 0 else dice.choice('RRW')}")
    place.write_text("\n".join(lines) + "\n")


def test_claims_are_measured_on_the_traces_given(tmp_path: Path) -> None:
    _write_trace(tmp_path / "angrybird", 1)
    _write_trace(tmp_path / "browser.txt", 2)
    claims = {claim.claim: claim for claim in papers.check_on(tmp_path, ["spo-clock"])}
    mean = claims["I/O time falls by 15.0 % on average against CLOCK (Section 3)"]
    assert mean.ours is not None and "n = 2: angrybird" in mean.ours and "browser" in mean.ours
    # Two programs establish no direction, whatever their figures.
    assert mean.verdict in ("sign-only", "differs")
    assert "10 points" in (claims["SPO-CLOCK is best at all 25 points (Fig. 4)"].ours or "")
    assert papers.given_traces() == ()


def test_traces_whose_names_differ_after_a_dot_are_two_programs(tmp_path: Path) -> None:
    for seed, name in enumerate(["maps.cold.txt", "maps.warm.txt"]):
        _write_trace(tmp_path / name, seed)
    claims = {claim.claim: claim for claim in papers.check_on(tmp_path, ["spo-clock"])}
    mean = claims["I/O time falls by 15.0 % on average against CLOCK (Section 3)"]
    assert mean.ours is not None and "n = 2: maps.cold" in mean.ours and "maps.warm" in mean.ours


@pytest.mark.parametrize("names", [[], ["a2s"], ["spo-clock", "dr-swap"]])
def test_other_papers_take_no_traces(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(BadInput, match="--traces.*expected spo-clock"):
        papers.check_on(tmp_path, names)


def test_a_table_names_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p").mkdir()
    readme = tmp_path / "p" / "README.md"
    readme.write_text("Rows were computed from commit 36ad6c5. More.\n")
    monkeypatch.setattr(papers, "folder", lambda: tmp_path)
    with pytest.raises(NotSupported, match="written in a clone"):
        papers_readme.stamp("p")
    monkeypatch.setattr(papers_readme, "_commit", lambda: "abcdef0")
    papers_readme.stamp("p")
    assert readme.read_text() == "Rows were computed from commit abcdef0. More.\n"
    readme.write_text("nothing\n")
    with pytest.raises(BadInput, match="no sentence 'computed from commit'"):
        papers_readme.stamp("p")


def test_a_folder_without_traces_is_named(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(BadInput, match="no trace in it; expected a folder of trace files"):
            papers.check_on(folder, ["spo-clock"])


def test_a_table_may_lack_what_has_to_be_captured_first() -> None:
    captured = next(claim for claim in papers.expected("spo-clock").claim if claim.captured)
    claim = papers._judged("spo-clock", captured, None)
    assert claim.verdict == "not-testable" and claim.why.startswith(papers.NOT_CAPTURED)
    assert f"| - | not-testable | {papers.NOT_CAPTURED}" in papers_readme.claim_table([claim])
