"""The colors and fonts of all figures. Each role has a light and a dark value.

Charts are built with the light values, for notebooks. The report replaces each value by a CSS
variable named after the role, so that the page follows the reader's light or dark setting without a
second drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: role -> (light, dark). Values must be distinct, because the replacement is by value.
ROLES: dict[str, tuple[str, str]] = {
    "ink": ("#1c2530", "#e7ebf0"),
    "soft": ("#5b6672", "#a3adb8"),
    "rule": ("#d7dce2", "#38414b"),
    "paper": ("#fffffe", "#161b21"),
    "other": ("#aeb6bf", "#5d6773"),
    # Parts of the I/O time: one hue for swap (reads light, writes dark), another for files.
    "swap-read": ("#7eb0e6", "#8fc0f2"),
    "swap-write": ("#1f5fa8", "#3f83d4"),
    "file-read": ("#e3a02f", "#e9b04a"),
    "file-write": ("#8a5a0b", "#a8772a"),
    # Named lines of a figure.
    "line-1": ("#c2410c", "#fb8a52"),
    "line-2": ("#1d4f91", "#6fa8ef"),
    "line-3": ("#0f766e", "#41c4b4"),
    "line-4": ("#8b3fb0", "#cf93ee"),
    "line-5": ("#7a6a00", "#d8c547"),
    # Ends of the scale from "cheaper than the baseline" to "more expensive".
    "better": ("#0f7b5f", "#3fbf9a"),
    "worse": ("#b3361e", "#f0806a"),
}

LINES = ("line-1", "line-2", "line-3", "line-4", "line-5")
FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def color(role: str) -> str:
    """Return the light value of a role."""
    return ROLES[role][0]


def css_variables(dark: bool) -> str:
    """Format `--role: value;` of every role for the light or dark setting."""
    return " ".join(f"--{role}: {values[dark]};" for role, values in ROLES.items())


#: Any JSON value, as in a Vega-Lite specification.
Json = str | float | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]
JsonObject = dict[str, Json]


def altair_config() -> JsonObject:
    """Return the Vega-Lite `config` of every figure."""
    label: JsonObject = {
        "labelColor": color("soft"),
        "titleColor": color("soft"),
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
    }
    return {
        "background": "transparent",
        # The last label of an axis may extend beyond the axis.
        "padding": {"left": 18, "right": 26, "top": 6, "bottom": 6},
        "font": FONT,
        "view": {"stroke": None},
        "axis": {**label, "domainColor": color("rule"), "gridColor": color("rule"), "tickColor": color("rule")},
        "legend": {
            **label,
            "labelColor": color("ink"),
            "orient": "top",
            "direction": "horizontal",
            "titleOrient": "left",
            "symbolType": "square",
            # The browser's fonts are wider than those of the layout; the padding keeps a text from
            # overlapping the next symbol.
            "columnPadding": 26,
            "rowPadding": 5,
            "labelOffset": 7,
        },
        "header": {**label, "labelColor": color("ink"), "labelFontSize": 13, "labelFontWeight": "bold"},
        "text": {"color": color("ink"), "fontSize": 10},
        "title": {"color": color("ink"), "anchor": "start"},
    }
