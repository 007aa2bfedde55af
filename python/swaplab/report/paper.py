"""The report section that compares a paper's figures with ours; `papers` adds it to the page of a
paper's preset.
"""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.analysis.papers_published import PublishedComparison
from swaplab.analysis.verdict import number
from swaplab.core.model import Document
from swaplab.report.origin import kinds_of
from swaplab.report.page import Cell, Section, Table


def section(document: Document, paper: str, figures: Sequence[PublishedComparison], key: str = "paper") -> Section:
    """Build the section that compares the published figures of the document's designs with ours."""
    rows = [
        [
            Cell(comparison.design),
            *(
                Cell(text)
                for text in (comparison.what, number(comparison.published), "-" if comparison.ours is None else number(comparison.ours))
            ),
        ]
        for comparison in figures
    ]
    known = [comparison for comparison in figures if comparison.ours is not None]
    return Section(
        key=key,
        title=f"Comparison with the figures of {paper}",
        kinds=kinds_of(document.rows),
        verdict=f"{len(known)} of {len(figures)} published figures can be compared with ours.",
        evidence=[
            "Published figures were measured on another machine; `swaplab papers check` judges them by bands that were set before ours."
        ],
        figures=[],
        tables=[Table("Comparison with the paper's figures", ["design", "figure", "published", "here"], rows)],
    )
