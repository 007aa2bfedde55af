"""Folders of analysis results: a report and the result's document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from swaplab.core.document import SUMMARY
from swaplab.core.files import path_for_message
from swaplab.worlds.sweep.store import Store

if TYPE_CHECKING:
    from swaplab.analysis.readable import Readable


def write_result(result: Readable, folder: Path, name: str) -> None:
    """Write `summary.json` and `report.html` of an analysis result to a new folder, and print the
    report's path.
    """
    from swaplab import report  # takes long to import, and most commands write no report

    store = Store(folder)
    store.finish({"report.html": report.page([(name, result)]).encode(), SUMMARY: (result.model_dump_json(indent=1) + "\n").encode()})
    print(f"report: {path_for_message(folder / 'report.html')}")
