"""What papers give for the schemes of an experiment (`published`), beside what the simulated phone makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Beside(NamedTuple):
    """One figure of one scheme; `ours` is None where the run has nothing of the kind."""

    scheme: str
    what: str
    published: float
    ours: float | None


def _classes(*names: str) -> Callable[[dict[str, Any]], float]:
    return lambda row: 100 * sum(row["ux"][name] for name in names) / row["launches"]


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


#: Keys of `published`: how to call the figure, and how a row of the document says it.
FIGURES: dict[str, tuple[str, Callable[[dict[str, Any]], float | None]]] = {
    "swap_in_mb": ("swapped in, MB", lambda row: row["swap_in_bytes"] / 1e6),
    "swap_out_mb": ("swapped out, MB", lambda row: row["swap_out_bytes"] / 1e6),
    "crisp_percent": ("launches up to 150 ms, %", _classes("crisp")),
    "noticeable_percent": ("launches up to 1 s, %", _classes("noticeable")),
    "negative_percent": ("launches above 1 s, %", _classes("annoying", "unacceptable", "unusable")),
    "unusable_percent": ("launches above 5 s, %", _classes("unusable")),
    "dead_within_60_s_percent": ("entries dead within 60 s, %", lambda row: _percent(row["entry_lifetime_s"]["below"]["60"])),
    "dead_within_1000_s_percent": ("entries dead within 1000 s, %", lambda row: _percent(row["entry_lifetime_s"]["below"]["1000"])),
    "dead_within_2000_s_percent": ("entries dead within 2000 s, %", lambda row: _percent(row["entry_lifetime_s"]["below"]["2000"])),
    "never_dead_percent": ("entries never dead, %", lambda row: _percent(row["entry_lifetime_s"]["never"])),
}


def beside(rows: list[dict[str, Any]]) -> list[Beside]:
    """Every published figure of a document's schemes, in the order of the schemes."""
    without = next((row["resumes"] for row in rows if row["swap"] == "none"), None)
    found = []
    for row in rows:
        published = row.get("published") or {}
        if "resumes_gained" in published:
            gained = None if without is None else row["resumes"] - without
            found.append(Beside(row["name"], "resumes more than without swap", published["resumes_gained"], gained))
        for key, (what, ours) in FIGURES.items():
            if key in published:
                found.append(Beside(row["name"], what, published[key], ours(row)))
    return found
