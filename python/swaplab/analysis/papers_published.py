"""Comparison of our figures of designs with those that a paper publishes (`[published.PRESET]` of
`papers/NAME/expected.toml`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from swaplab.core.bases import FrozenModel
from swaplab.core.model import Row


class Published(FrozenModel):
    """A paper's figures of one design."""

    resumes_gained: float | None = None
    swap_in_mb: float | None = None
    swap_out_mb: float | None = None
    crisp_percent: float | None = None
    noticeable_percent: float | None = None
    negative_percent: float | None = None
    unusable_percent: float | None = None
    dead_within_60_s_percent: float | None = None
    dead_within_1000_s_percent: float | None = None
    dead_within_2000_s_percent: float | None = None
    never_dead_percent: float | None = None


class PublishedComparison(FrozenModel):
    """A published figure of a design and our figure, which is None if the run does not have it."""

    design: str
    what: str
    published: float
    ours: float | None


def compare_with_published(rows: Sequence[Row], published: Mapping[str, Published]) -> list[PublishedComparison]:
    """Compare every published figure of the rows' designs with ours, in the order of the rows."""
    without = next((row.launches.resumes for row in rows if row.swap == "none" and row.launches is not None), None)
    comparisons = []
    for row in rows:
        figures = published.get(row.design)
        if figures is None or row.launches is None:
            continue
        for name, (label, ours) in FIGURES.items():
            value = getattr(figures, name)
            if value is not None:
                comparisons.append(PublishedComparison(design=row.design, what=label, published=value, ours=ours(row)))
        if figures.resumes_gained is not None:
            gained = None if without is None else row.launches.resumes - without
            comparisons.append(
                PublishedComparison(design=row.design, what="resumes more than without swap", published=figures.resumes_gained, ours=gained)
            )
    return comparisons


def _classes(*wanted: str) -> Callable[[Row], float | None]:
    def share(row: Row) -> float | None:
        if row.launches is None or not row.launches.count:
            return None
        return 100 * sum(float(getattr(row.launches.ux, name)) for name in wanted) / row.launches.count

    return share


def megabytes(value: float | None) -> float | None:
    """Of bytes."""
    return None if value is None else value / 1e6


def _dead(seconds: str) -> Callable[[Row], float | None]:
    return lambda row: _percent(row.phone.entry_lifetime_s.below.get(seconds) if row.phone is not None else None)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


#: Figures of `Published`: how to call one, and how a row has it.
FIGURES: dict[str, tuple[str, Callable[[Row], float | None]]] = {
    "swap_in_mb": ("swapped in, MB", lambda row: megabytes(row.paging.swap_in_bytes)),
    "swap_out_mb": ("swapped out, MB", lambda row: megabytes(row.paging.swap_out_bytes)),
    "crisp_percent": ("launches up to 150 ms, %", _classes("crisp")),
    "noticeable_percent": ("launches up to 1 s, %", _classes("noticeable")),
    "negative_percent": ("launches above 1 s, %", _classes("annoying", "unacceptable", "unusable")),
    "unusable_percent": ("launches above 5 s, %", _classes("unusable")),
    "dead_within_60_s_percent": ("entries dead within 60 s, %", _dead("60")),
    "dead_within_1000_s_percent": ("entries dead within 1000 s, %", _dead("1000")),
    "dead_within_2000_s_percent": ("entries dead within 2000 s, %", _dead("2000")),
    "never_dead_percent": (
        "entries never dead, %",
        lambda row: _percent(row.phone.entry_lifetime_s.never if row.phone is not None else None),
    ),
}
