"""Export of figures as separate files: SVG and PNG, in light colors."""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.analysis.readable import Readable
from swaplab.report.sections import all_sections


def static_files(documents: Sequence[tuple[str, Readable]]) -> dict[str, bytes]:
    """Draw every figure of the page as `<figure>.svg` and `<figure>.png`. Returns the contents by
    file name.
    """
    files: dict[str, bytes] = {}
    for section in all_sections(documents):
        for figure in section.figures:
            files[f"{figure.key}.svg"] = figure.svg().encode()
            files[f"{figure.key}.png"] = figure.png()
    return files
