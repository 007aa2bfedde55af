"""Colours and type of every figure, once: each role has a light and a dark value.

Charts are built with the light values, so they look right in a notebook; the report swaps each for a CSS variable of the role's
name, and the page then follows the reader's light or dark setting without a second drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: role -> (light, dark). Values must differ from one another: the swap is by value.
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
    # Lines that a figure names.
    "line-1": ("#c2410c", "#fb8a52"),
    "line-2": ("#1d4f91", "#6fa8ef"),
    "line-3": ("#0f766e", "#41c4b4"),
    "line-4": ("#8b3fb0", "#cf93ee"),
    "line-5": ("#7a6a00", "#d8c547"),
    # Ends of the scale "cheaper than the baseline" to "dearer".
    "better": ("#0f7b5f", "#3fbf9a"),
    "worse": ("#b3361e", "#f0806a"),
}

LINES = ("line-1", "line-2", "line-3", "line-4", "line-5")
FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def colour(role: str) -> str:
    """The light value of a role."""
    return ROLES[role][0]


def css_variables(dark: bool) -> str:
    """`--role: value;` of every role, for one of the two settings."""
    return " ".join(f"--{role}: {values[dark]};" for role, values in ROLES.items())


#: Any JSON value, as a Vega-Lite specification is made of.
Json = str | float | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]
JsonObject = dict[str, Json]


def altair_config() -> JsonObject:
    """The Vega-Lite `config` of every figure."""
    label: JsonObject = {
        "labelColor": colour("soft"),
        "titleColor": colour("soft"),
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
    }
    return {
        "background": "transparent",
        # The last label of an axis is wider than half a tick's distance.
        "padding": {"left": 18, "right": 26, "top": 6, "bottom": 6},
        "font": FONT,
        "view": {"stroke": None},
        "axis": {**label, "domainColor": colour("rule"), "gridColor": colour("rule"), "tickColor": colour("rule")},
        "legend": {
            **label,
            "labelColor": colour("ink"),
            "orient": "top",
            "direction": "horizontal",
            "titleOrient": "left",
            "symbolType": "square",
            # A browser's fonts run wider than those that the drawing was laid out with: room keeps a text off the next symbol.
            "columnPadding": 26,
            "rowPadding": 5,
            "labelOffset": 7,
        },
        "header": {**label, "labelColor": colour("ink"), "labelFontSize": 13, "labelFontWeight": "bold"},
        "text": {"color": colour("ink"), "fontSize": 10},
        "title": {"color": colour("ink"), "anchor": "start"},
    }
