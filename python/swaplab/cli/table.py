"""Rows of text in aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.core.files import printable


def print_columns(rows: Sequence[tuple[str, ...]], left: tuple[int, ...] = ()) -> None:
    """Print rows in aligned columns, to the right except those in `left`; lines are never cut or wrapped. A name with control characters
    is shown without them."""
    rows = [tuple(printable(cell) for cell in row) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
        print("  ".join(cells).rstrip())


def count(value: float | None) -> str:
    """A count with thousands separators; `-` where it is unknown."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def scaled(value: float | None, scale: float, digits: int = 1) -> str:
    """A figure divided by `scale`; `-` where it is unknown."""
    return "-" if value is None else f"{value / scale:,.{digits}f}"
