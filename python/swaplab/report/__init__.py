"""Reports: figures and the offline HTML page. They are made from typed documents and results;
nothing is run or written here.
"""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.analysis.readable import Readable
from swaplab.core.errors import BadInput
from swaplab.core.model import Row
from swaplab.report.glance import summarized
from swaplab.report.origin import labeled
from swaplab.report.page import Section, render
from swaplab.report.sections import all_sections, sections

__all__ = ["page", "sections"]


def page(documents: Sequence[tuple[str, Readable]], title: str = "", extra: Sequence[Section] = (), glance: Sequence[Row] = ()) -> str:
    """Render one HTML page for named documents.

    `extra` are additional sections, such as a comparison with a paper's figures. `glance`: rows of
    a simulated phone for the summary table of the first section, for a result that has no rows
    itself.
    """
    if not documents:
        raise BadInput("report: no document; expected at least one")
    parts = all_sections(documents)
    if glance:
        parts[0] = summarized(parts[0], labeled(glance))
    return render(title or ", ".join(name for name, _ in documents), [*parts, *extra])
