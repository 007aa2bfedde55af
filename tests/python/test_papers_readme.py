"""The tables in the READMEs of papers/."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from swaplab import BadInput
from swaplab.analysis import papers, papers_readme
from swaplab.core.errors import NotSupported


def test_tables_are_put_into_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p").mkdir()
    place = tmp_path / "p" / "README.md"
    place.write_text("# P\n\ntext\n\n| claim | x |\n|---|---|\n| old | 1 |\n\n## After\nkept\n")
    monkeypatch.setattr(papers, "folder", lambda: tmp_path)
    claim = papers.Claim(paper="p", claim="c", published="1", ours=None, band=None, verdict="not-testable", why="w")
    papers_readme.write_table("p", "| claim |", papers_readme.claim_table([claim]))
    text = place.read_text()
    assert "| c | 1 | - | not-testable | w |" in text and "old" not in text and text.endswith("\n\n## After\nkept\n")
    papers_readme.write_table("p", "## New", "## New\n\nrow\n")
    assert place.read_text().endswith("kept\n\n## New\n\nrow\n")
    papers_readme.write_table("p", "## New", "## New\n\nother\n")
    assert place.read_text().count("## New") == 1 and place.read_text().endswith("other\n")


def test_a_table_is_not_written_if_data_for_its_figures_is_missing() -> None:
    claim = papers._judged("a2s", next(claim for claim in papers.expected("a2s").claim if claim.measure is not None), None)
    with pytest.raises(BadInput, match="expected SWAPLAB_DATA"):
        papers_readme.claim_table([claim])


def test_the_commit_of_a_table_is_that_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "papers" / "p").mkdir(parents=True)
    monkeypatch.setattr(papers, "folder", lambda: tmp_path / "papers")
    readme, code = tmp_path / "papers" / "p" / "README.md", tmp_path / "code"
    readme.write_text("computed from commit 0000000-dirty\n")
    with pytest.raises(NotSupported, match="they are written in a clone"):
        papers_readme.stamp("p")
    code.write_text("1")

    def git(*words: str) -> str:
        names = ("-c", "user.name=tester", "-c", "user.email=tester@localhost")
        return subprocess.run(["git", *names, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        git(*words)
    commit = git("rev-parse", "--short=7", "HEAD")
    # A table that is written is no change of the code.
    for _ in range(2):
        papers_readme.stamp("p")
        assert readme.read_text() == f"computed from commit {commit}\n"
    code.write_text("2")
    papers_readme.stamp("p")
    assert readme.read_text() == f"computed from commit {commit}-dirty\n"
    readme.write_text("no sentence")
    with pytest.raises(BadInput, match="no sentence 'computed from commit'"):
        papers_readme.stamp("p")
