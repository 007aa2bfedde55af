"""Figures as files of their own: SVG and PNG, in light colours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swaplab.report import all_sections
from swaplab.run_folder import replace


def write_static(documents: Sequence[tuple[str, dict[str, Any]]], folder: Path) -> list[Path]:
    """Write `<figure>.svg` and `<figure>.png` for every figure of the page; returns the paths."""
    written = []
    for section in all_sections(documents):
        for figure in section.figures:
            for suffix, content in ((".svg", figure.svg().encode()), (".png", figure.png())):
                path = folder / f"{figure.key}{suffix}"
                replace(path, content)
                written.append(path)
    return written
