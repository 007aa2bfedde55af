"""Printing of rows of text in aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.core.files import printable


def print_columns(rows: Sequence[tuple[str, ...]], left: tuple[int, ...] = ()) -> None:
    """Print rows in columns, right-aligned except those in `left`. Lines are not truncated or
    wrapped; control characters are replaced.
    """
    rows = [tuple(printable(cell) for cell in row) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
        print("  ".join(cells).rstrip())


def count(value: float | None) -> str:
    """Format a count with thousands separators; `-` if it is None."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def scaled(value: float | None, scale: float, digits: int = 1) -> str:
    """Format a figure divided by `scale`; `-` if it is None."""
    return "-" if value is None else f"{value / scale:,.{digits}f}"
