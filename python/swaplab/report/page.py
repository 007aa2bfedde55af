"""The page: sections laid into one offline HTML file. Knows nothing of any experiment."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources

from swaplab.core.model import Kind
from swaplab.report.figure import Figure
from swaplab.report.theme import css_variables


@dataclass(frozen=True)
class Cell:
    """One cell of a table; `tone` from -1 (better than the baseline) to 1 (worse) shades it, `faded` greys it."""

    text: str
    tone: float | None = None
    faded: bool = False


@dataclass(frozen=True)
class Table:
    """The first column names the row; `folded` tables open on demand."""

    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """What one run has to say: the verdict first, what it rests on, then pictures, numbers and where they come from."""

    key: str
    title: str
    #: Every kind of the section's figures; more than one only where each is marked.
    kinds: list[Kind]
    verdict: str
    evidence: list[str]
    figures: list[Figure]
    tables: list[Table]
    provenance: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: The table of the first screen, above the evidence.
    glance: Table | None = None


#: What the badge of each kind tells a reader.
KINDS: dict[Kind, str] = {
    "simulated": "Computed by a model; no memory or storage was touched.",
    "virtual": "A real kernel under a clock that counts instructions: real decisions, modeled time.",
    "measured": "Measured on the real kernel or on real memory.",
    "emulated": "Real memory posing as another medium: an upper bound.",
}


def render(title: str, sections: list[Section]) -> str:
    """The whole page as one HTML text without any outside reference. Every name is escaped."""
    # Templates are compiled when a page is made, not when a command starts.
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
