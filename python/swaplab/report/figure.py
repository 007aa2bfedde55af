"""A figure of a report: two drawings of one chart (a wide and a narrow screen), the line that reads it, and its numbers.

Drawings are static SVG made by vl-convert: they need no script, print as they look, and a screen of any width picks the one that fits.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TypeVar

import altair as alt
import polars as pl

from swaplab.core.files import printable
from swaplab.report.theme import ROLES, JsonObject, altair_config

T = TypeVar("T")

#: vl-convert must be told altair's own Vega-Lite version (major.minor), else it draws with its newest.
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


#: What Vega writes and no reader of the page needs: empty paths, and what the page's own style says once for all drawings.
NOTHING = re.compile(
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
    """`key` names its anchor and files; `reading` is one sentence; `data` is what the CSV holds; charts draw in light colours."""

    key: str
    title: str
    reading: str
    data: pl.DataFrame
    wide: alt.TopLevelMixin
    narrow: alt.TopLevelMixin

    def csv(self) -> str:
        return self.data.write_csv()

    def csv_link(self) -> str:
        """The CSV as a `data:` address: a download that needs no network and no script."""
        return "data:text/csv;charset=utf-8;base64," + base64.b64encode(self.csv().encode()).decode()

    def svg(self) -> str:
        """The wide drawing as a file of its own, in light colours."""
        return _draw(self.wide, on_paper=True)

    def png(self, scale: float = 2.0) -> bytes:
        import vl_convert  # loads a JavaScript engine

        png: bytes = vl_convert.vegalite_to_png(_spec(self.wide, on_paper=True), vl_version=VEGA_LITE, scale=scale)
        return png

    def inline(self) -> Drawings:
        """Both drawings for the page: colours follow the page's variables, ids are unique, sizes follow the column."""
        return Drawings(_for_page(_draw(self.wide), f"{self.key}-w"), _for_page(_draw(self.narrow), f"{self.key}-n"))


def _spec(chart: alt.TopLevelMixin, on_paper: bool = False) -> JsonObject:
    with alt.data_transformers.enable("default", max_rows=None):
        # Checking a spec against the schema of Vega-Lite costs more than drawing it; the tests check every kind of chart once.
        spec: JsonObject = chart.to_dict(validate=False)
    spec = without_control(spec)
    spec["config"] = altair_config() | ({"background": ROLES["paper"][0]} if on_paper else {})
    return spec


def without_control(value: T) -> T:
    """A chart's description whose texts are printable: SVG holds no control characters, and the renderer would abort."""
    match value:
        case str():
            return printable(value)  # type: ignore[return-value]
        case dict():
            return {printable(key): without_control(inner) for key, inner in value.items()}  # type: ignore[return-value]
        case list():
            return [without_control(inner) for inner in value]  # type: ignore[return-value]
    return value


def _draw(chart: alt.TopLevelMixin, on_paper: bool = False) -> str:
    import vl_convert  # loads a JavaScript engine

    svg: str = vl_convert.vegalite_to_svg(_spec(chart, on_paper), vl_version=VEGA_LITE)
    return svg


def _for_page(svg: str, prefix: str) -> str:
    """Themed colours, ids that do not meet another figure's, a viewBox in place of a fixed size, and nothing that draws nothing."""
    svg = NOTHING.sub("", svg)
    for role, (light, _) in ROLES.items():
        svg = re.sub(re.escape(light) + r"\b", f"var(--{role})", svg, flags=re.IGNORECASE)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    width = re.search(r'<svg[^>]*?\bwidth="([\d.]+)"', svg)
    style = f' style="max-width:{float(width.group(1)):.0f}px"' if width else ""
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(width|height|class|style)="[^"]*"', "", head)
    # One image to a screen reader (its name is the figure's title and reading); the marks' own labels feed the tooltip.
    return f'{head} class="drawing" role="img" aria-labelledby="{prefix[:-2]}-title {prefix[:-2]}-reading"{style}>{rest}'
