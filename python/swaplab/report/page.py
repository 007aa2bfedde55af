"""The HTML page: rendering of sections to one offline file, independent of the kind of
experiment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources

from swaplab.core.model import Kind
from swaplab.report.figure import Figure
from swaplab.report.theme import css_variables


@dataclass(frozen=True)
class Cell:
    """A table cell. `tone` from -1 (better than the baseline) to 1 (worse) sets its shade; `faded`
    grays it out.
    """

    text: str
    tone: float | None = None
    faded: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column names the row. `folded` tables are collapsed until the reader
    opens them.
    """

    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """A section about a run: the verdict, its evidence, figures, tables and provenance."""

    key: str
    title: str
    #: All kinds of the section's figures. If there are several, each figure is marked with its
    #: kind.
    kinds: list[Kind]
    verdict: str
    evidence: list[str]
    figures: list[Figure]
    tables: list[Table]
    provenance: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: The summary table, above the evidence.
    glance: Table | None = None


#: The explanation on the badge of each kind.
KINDS: dict[Kind, str] = {
    "simulated": "Computed by a model; no memory or storage was touched.",
    "virtual": "A real kernel under a clock that counts instructions: real decisions, modeled time.",
    "measured": "Measured on the real kernel or on real memory.",
    "emulated": "Real memory that emulates another medium: an upper bound.",
}


def render(title: str, sections: list[Section]) -> str:
    """Render the page as one HTML text without external references. Every name is escaped."""
    # Imported here because it takes time that other commands should not spend.
    from jinja2 import Environment, StrictUndefined

    parts = resources.files("swaplab.report") / "page"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((parts / "page.html.j2").read_text("utf-8"))
    return template.render(
        title=title,
        sections=sections,
        kinds=[(kind, KINDS[kind]) for kind in KINDS if any(kind in section.kinds for section in sections)],
        style=(parts / "page.css").read_text("utf-8"),
        script=(parts / "page.js").read_text("utf-8"),
        light=css_variables(dark=False),
        dark=css_variables(dark=True),
    )
