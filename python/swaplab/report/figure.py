"""A figure of a report: two drawings of a chart (for wide and narrow screens), a sentence that says
how to read it, and its data.

Drawings are static SVG made by vl-convert. They need no script and can be printed; the page shows
the one that fits the screen's width.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TypeVar

import altair as alt
import polars as pl

from swaplab.core.files import CONTROL
from swaplab.report.theme import ROLES, JsonObject, altair_config

T = TypeVar("T")


def vega_lite() -> str:
    """Altair's Vega-Lite version (major.minor), which vl-convert needs because its default is its
    newest version.
    """
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


#: Control characters, and those of more than 16 bits, such as emoji.
NOT_DRAWN = re.compile(f"{CONTROL.pattern}|[\U00010000-\U0010ffff]")
#: Redundant parts of Vega's SVG: empty paths, and attributes that the page's style sheet sets for
#: all drawings.
REDUNDANT = re.compile(
    r'<path class="(?:fore|back)ground"[^>]*? d="(?:|M0,0h[\d.]+v[\d.]+h-[\d.]+Z)"[^>]*/>'
    r'| font-family="[^"]*"| aria-roledescription="[^"]*"| pointer-events="none"| opacity="1"| stroke-width="1"'
)


@dataclass(frozen=True)
class Drawings:
    """SVG texts for a wide and a narrow screen."""

    wide: str
    narrow: str


@dataclass(frozen=True)
class Figure:
    """A chart with its texts and data.

    `key` names its anchor and files; `reading` is a sentence that says how to read it; `data` is
    the content of the CSV. Colors of the charts are the light ones.
    """

    key: str
    title: str
    reading: str
    data: pl.DataFrame
    wide: alt.TopLevelMixin
    narrow: alt.TopLevelMixin

    def csv(self) -> str:
        return self.data.write_csv()

    def csv_link(self) -> str:
        """Return the CSV as a `data:` URL, for a download without network and script."""
        return "data:text/csv;charset=utf-8;base64," + base64.b64encode(self.csv().encode()).decode()

    def svg(self) -> str:
        """Draw the wide chart as a separate file, in light colors."""
        return _draw(self.wide, opaque=True)

    def png(self, scale: float = 2.0) -> bytes:
        import vl_convert  # loads a JavaScript engine

        png: bytes = vl_convert.vegalite_to_png(_spec(self.wide, opaque=True), vl_version=vega_lite(), scale=scale)
        return png

    def inline(self) -> Drawings:
        """Draw both charts for the page: with the page's color variables, unique ids, and sizes
        that follow the column.
        """
        return Drawings(_for_page(_draw(self.wide), f"{self.key}-w"), _for_page(_draw(self.narrow), f"{self.key}-n"))


def _spec(chart: alt.TopLevelMixin, opaque: bool = False) -> JsonObject:
    with alt.data_transformers.enable("default", max_rows=None):
        # Validation against the schema of Vega-Lite takes longer than drawing. The tests validate
        # every kind of chart.
        spec: JsonObject = chart.to_dict(validate=False)
    spec = drawable(spec)
    spec["config"] = altair_config() | ({"background": ROLES["paper"][0]} if opaque else {})
    return spec


def drawable(value: T) -> T:
    """Write characters in a chart's description by their numbers where the renderer would abort:
    control characters, which SVG does not allow, and characters beyond U+FFFF, which it cuts in two
    at a label's end. Different names stay different.
    """
    match value:
        case str():
            return NOT_DRAWN.sub(lambda found: f"U+{ord(found[0]):04X}", value)  # type: ignore[return-value]
        case dict():
            return {drawable(key): drawable(inner) for key, inner in value.items()}  # type: ignore[return-value]
        case list():
            return [drawable(inner) for inner in value]  # type: ignore[return-value]
    return value


def _draw(chart: alt.TopLevelMixin, opaque: bool = False) -> str:
    import vl_convert  # loads a JavaScript engine

    svg: str = vl_convert.vegalite_to_svg(_spec(chart, opaque), vl_version=vega_lite())
    return svg


def _for_page(svg: str, prefix: str) -> str:
    """Prepare an SVG for the page: theme colors, unique ids, a viewBox instead of a fixed size, no
    redundant parts.
    """
    svg = REDUNDANT.sub("", svg)
    for role, (light, _) in ROLES.items():
        svg = re.sub(re.escape(light) + r"\b", f"var(--{role})", svg, flags=re.IGNORECASE)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    width = re.search(r'<svg[^>]*?\bwidth="([\d.]+)"', svg)
    style = f' style="max-width:{float(width.group(1)):.0f}px"' if width else ""
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(width|height|class|style)="[^"]*"', "", head)
    # For a screen reader it is one image, named by the figure's title and reading. The marks'
    # labels are for the tooltip.
    return f'{head} class="drawing" role="img" aria-labelledby="{prefix[:-2]}-title {prefix[:-2]}-reading"{style}>{rest}'
