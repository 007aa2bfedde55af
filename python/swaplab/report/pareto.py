"""The points that no other point beats in both of two objectives (less is better in each)."""

from __future__ import annotations

import polars as pl


def front(frame: pl.DataFrame, first: str, second: str) -> pl.DataFrame:
    """Rows of the Pareto front, by rising `first`; of rows equal in both, the earliest."""
    best = pl.col(second).cum_min().shift(1)
    return frame.sort(first, second, maintain_order=True).filter((pl.col(second) < best).fill_null(True))
